"""The calls, tensors and thread states of ``worked_examples.txt``. Expected results are not part of it.

Rule 1: a call's set-up is above its ``---``; below it, the first dispatch of the named operator counts.
Rule 2: ``Globals`` provides the objects that PyTorch and the model create differently.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

_HERE = Path(__file__).parent


class Call(NamedTuple):
    """A call whose path to its first kernel is recorded."""

    operator: str
    setup: str
    source: str


def _parts(kind: str) -> dict[str, tuple[str, str]]:
    text = (_HERE / "worked_examples.txt").read_text(encoding="utf-8")
    found = re.findall(rf"^## {kind} (\w+) ?(\S*)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return {name: (operator, body.strip()) for name, operator, body in found}


def _call(operator: str, body: str) -> Call:
    setup, _, source = body.rpartition("---")
    return Call(operator, setup.strip(), source.strip())


CALLS: dict[str, Call] = {name: _call(*part) for name, part in _parts("call").items()}
TENSORS: dict[str, str] = {name: source for name, (_, source) in _parts("tensor").items()}
STATES: dict[str, str] = {name: source for name, (_, source) in _parts("state").items()}


class Globals:
    """The globals of programs besides ``torch``. ``made`` are functions that differ between PyTorch and the model."""

    def __init__(self, torch: ModuleType, made: dict[str, Callable[..., Any]]) -> None:
        self.torch = torch
        self.noted: list[list[int]] = []
        """The thread-local include and exclude sets, one pair per ``note()``."""
        self.variables: dict[str, Any] = {
            "torch": torch,
            "note": self.note,
            "keys": self.keys,
            "excluding": self.excluding,
            "inside": self.inside,
            "in_inference_mode": self.in_inference_mode,
            "Mode": self.mode_class(),
            "dual": self.dual,
            "subclass": self.subclass,
            "wrapper": self.wrapper,
            **made,
        }

    def run(self, source: str) -> None:
        """Run statements."""
        exec(source, self.variables)

    def close(self) -> None:
        """Undo the program's registrations."""
        if "library" in self.variables:
            self.variables.pop("library")._destroy()

    def note(self) -> None:
        """Record the thread-local sets."""
        C = self.torch._C
        sets = C._dispatch_tls_local_include_set(), C._dispatch_tls_local_exclude_set()
        self.noted.append([keys.raw_repr() for keys in sets])

    def keys(self, *names: str) -> Any:
        """The key set of some keys."""
        C = self.torch._C
        found = C.DispatchKeySet(C.DispatchKey.Undefined)
        for name in names:
            found = found | C.DispatchKeySet(getattr(C.DispatchKey, name))
        return found

    def excluding(self, *names: str) -> Any:
        """A guard that excludes some keys."""
        return self.torch._C._ExcludeDispatchKeyGuard(self.keys(*names))

    def inside(self, transform: Any, example: Any) -> Any:
        """Record the thread-local sets inside a function under a transform, and return the key set of its argument
        there.
        """
        found = []

        def function(x: Any) -> Any:
            self.note()
            found.append(self.torch._C._dispatch_keys(x).raw_repr())
            return x

        transform(function)(example)
        return found[0]

    def in_inference_mode(self, make: Callable[[], Any]) -> Any:
        """The result of ``make`` in inference mode."""
        with self.torch.inference_mode():
            return make()

    def dual(self) -> int:
        """The key set of a tensor with a tangent."""
        forward_ad = self.torch.autograd.forward_ad
        with forward_ad.dual_level():
            tensor = forward_ad.make_dual(self.torch.ones(2), self.torch.ones(2))
            return int(self.torch._C._dispatch_keys(tensor).raw_repr())

    def mode_class(self) -> Any:
        """A mode that records the sets in its handler."""
        from importlib import import_module

        base = import_module(f"{self.torch.__name__}.utils._python_dispatch").TorchDispatchMode

        class Mode(base):  # type: ignore[misc,valid-type]
            def __torch_dispatch__(_, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                if "add" in str(func):
                    self.note()
                return func(*args, **(kwargs or {}))

        return Mode

    def subclass_class(self) -> Any:
        """A tensor class with a ``__torch_dispatch__`` that must not be called."""
        torch = self.torch

        class Subclass(torch.Tensor):  # type: ignore[misc,name-defined]
            @classmethod
            def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                raise NotImplementedError(f"{func} is not expected here")

        return Subclass

    def subclass(self, tensor: Any) -> Any:
        """A tensor as a subclass with a ``__torch_dispatch__``."""
        return tensor.as_subclass(self.subclass_class())

    def wrapper(self, device: str) -> Any:
        """A tensor subclass without memory on a device."""
        return self.torch.Tensor._make_wrapper_subclass(self.subclass_class(), (2,), device=device)


def key_set(given: Globals, source: str) -> int:
    """The raw key set of the tensor that an expression gives."""
    found = eval(source, given.variables)
    return int(found if isinstance(found, int) else given.torch._C._dispatch_keys(found).raw_repr())
