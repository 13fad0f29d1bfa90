"""How messages and recordings call a hook."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import dispatchviz
import dispatchviz.torch as model
from dispatchviz.core.record import events as ev


class Doubles:
    def __call__(self, grad: Any) -> Any:
        return grad.double()

    def as_method(self, grad: Any) -> Any:
        return grad.double()


class Named(Doubles):
    __name__ = "of its class"


class NamedByNumber(Doubles):
    __name__ = 5


class Asked:
    """A hook whose name is made by code of the program's."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, grad: Any) -> None:
        return None

    def tell(self) -> str:
        self.times += 1
        raise RuntimeError("no name")


class AskedForAll(Asked):
    def __getattr__(self, name: str) -> Any:
        return self.tell()


class AskedForProperty(Asked):
    @property
    def __name__(self) -> str:
        return self.tell()


class Name:
    """A descriptor of the program's own."""

    def __get__(self, hook: Asked | None, owner: type) -> Any:
        return self if hook is None else hook.tell()


class AskedForDescriptor(Asked):
    __name__ = Name()


class AskedClass(type):
    def __getattr__(cls, name: str) -> Any:
        raise SystemError(name)


class OfAskedClass(Asked, metaclass=AskedClass):
    pass


class Failing(Doubles):
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


def doubling(grad: Any) -> Any:
    return grad.double()


HOOKS: dict[str, tuple[Callable[[], Callable[[Any], Any]], str]] = {
    "function": (lambda: doubling, "doubling"),
    "method": (lambda: Doubles().as_method, "as_method"),
    "object": (Doubles, "<unknown>"),
    "attribute of the class": (Named, "of its class"),
    "number": (NamedByNumber, "<unknown>"),
    "failing": (Failing, "<unknown>"),
    "partial": (lambda: partial(doubling), "<unknown>"),
}


@pytest.mark.parametrize("kind", HOOKS)
def test_a_message_has_the_name_if_there_is_one(torch: Any, kind: str) -> None:
    make, name = HOOKS[kind]
    y = torch.ones(1, requires_grad=True) * 2
    y.register_hook(make())
    with pytest.raises(RuntimeError, match=f"hook '{name}' has changed the type of value"):
        y.sum().backward()


@pytest.mark.parametrize("kind", HOOKS)
def test_a_recording_has_the_same(kind: str) -> None:
    make, name = HOOKS[kind]
    with dispatchviz.record() as trace:
        (model.ones(1, requires_grad=True) * 2).register_hook(make())
    assert [event.function for event in trace if isinstance(event, ev.HookRegistered)] == [name]


@pytest.mark.parametrize("kind", [AskedForAll, AskedForProperty, AskedForDescriptor, OfAskedClass])
def test_code_of_the_programs_does_not_run_for_a_name(torch: Any, kind: Callable[[], Asked]) -> None:
    """A hook whose own code would say its name is not asked, neither by PyTorch nor by a recording."""
    hook = kind()

    def run() -> None:
        x = torch.ones(1, requires_grad=True)
        x.register_hook(hook)
        y = x * 2
        y.grad_fn.register_prehook(hook)
        y.sum().backward()

    run()
    with dispatchviz.record() as trace:
        run()
    assert hook.times == 0
    assert {event.function for event in trace if isinstance(event, ev.HookRan)} <= {"<unknown>"}
