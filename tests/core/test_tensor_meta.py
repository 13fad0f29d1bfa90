"""Classes derived from Tensor behave as Python's classes do, and plain tensors are created as before."""

from __future__ import annotations

import weakref
from typing import Any, ClassVar

import pytest

from dispatchviz import torch
from dispatchviz.core.tensor.tensor_meta import SubclassMeta, TensorMeta, disabled_torch_function_impl

IN_THE_BODY = 5


def test_class_of_tensor_is_the_metaclass() -> None:
    assert type(torch.Tensor) is torch._C._TensorMeta is TensorMeta
    assert repr(torch.Tensor) == "<class 'torch.Tensor'>"
    assert type(torch.ones(2)) is torch.Tensor


def test_new_and_init_run_with_the_arguments_given() -> None:
    class T(torch.Tensor):
        told: Any

        @staticmethod
        def __new__(cls: Any, data: Any, word: str = "") -> Any:
            return torch.Tensor._make_subclass(cls, data)

        def __init__(self, data: Any, word: str = "") -> None:
            self.told = (word, __class__)  # type: ignore[name-defined]

    assert T(torch.ones(2), word="yes").told == ("yes", T)


def test_annotations_do_not_become_fields() -> None:
    class T(torch.Tensor):
        elem: torch.Tensor
        count: ClassVar[int] = IN_THE_BODY
        plain: int = 7

    t = T(torch.ones(2))
    assert (T.count, t.plain) == (IN_THE_BODY, 7)
    assert "elem" in T.__annotations__
    assert t._size == (2,)


def test_slots_are_attributes() -> None:
    class T(torch.Tensor):
        __slots__ = ["elem"]

    t = T(torch.ones(2))
    t.elem = 3
    assert t.elem == 3
    assert weakref.ref(t)() is t


def test_methods_reach_their_base() -> None:
    class Mixin:
        def hello(self) -> str:
            return "mixed in"

    class T(Mixin, torch.Tensor):
        def __repr__(self) -> str:
            return f"T:{super().__repr__()}"

        def __new__(cls, data: Any) -> Any:
            return super().__new__(cls, data)

    class U(T):
        pass

    u = U(torch.tensor([1.0]))
    assert type(u) is U
    assert isinstance(u, T)
    assert isinstance(u, torch.Tensor)
    assert u.hello() == "mixed in"
    assert repr(u) == "T:U([1.])"


def test_users_metaclass_is_used() -> None:
    class Meta(torch._C._TensorMeta):  # type: ignore[misc,name-defined]
        def __instancecheck__(cls, instance: Any) -> bool:
            return instance == "friend" or super().__instancecheck__(instance)

    class T(torch.Tensor, metaclass=Meta):
        pass

    assert issubclass(type(T), Meta)
    assert issubclass(type(T), SubclassMeta)
    assert isinstance("friend", T)
    assert type(T(torch.ones(2))) is T


def test_python_keys_follow_torch_dispatch() -> None:
    def handler(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise AssertionError("not called here")

    class With(torch.Tensor):
        __torch_dispatch__ = classmethod(handler)

    class Without(torch.Tensor):
        pass

    class Mixin:
        __torch_dispatch__ = classmethod(handler)

    class Mixed(Mixin, torch.Tensor):
        pass

    class Own(With):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    x = torch.ones(2)
    keys = [x.as_subclass(cls)._ks for cls in (With, Without, Mixed)]
    assert keys == [0x100009410010001, 0x9400010001, 0x100009410010001]
    disabled = [cls.__torch_function__ is disabled_torch_function_impl for cls in (With, Without, Mixed, Own)]
    assert disabled == [True, False, True, False]
    Without.__torch_dispatch__ = classmethod(handler)
    assert x.as_subclass(Without)._ks == 0x100009410010001


def test_tensor_has_one_python_object() -> None:
    class Returning(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return torch.ones(2).as_subclass(cls)

    class Other(torch.Tensor):
        pass

    with pytest.raises(RuntimeError, match="already associated to a python object of type Returning"):
        torch.ones(2).as_subclass(Returning).as_subclass(Other)


def test_wrapper_without_a_repr_prints_its_class() -> None:
    class Quiet(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    quiet = torch.Tensor._make_wrapper_subclass(Quiet, (2,), device="xpu")
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch._ops.aten.view.default'"):
        repr(quiet)
