"""The Functionalize kernels of in-place and view operators.

They mirror the code that ``torchgen/gen_functionalization_type.py`` generates into ``RegisterFunctionalization_*.cpp``,
from the schema alone. ``add_`` becomes ``add`` and a new value for the wrapper, and so does ``add.out``. ``view``
returns a wrapper that remembers the view. ``t_`` makes the wrapper a view of its previous value. The hand-written
kernels are in ``functionalize_fallback.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from dispatchviz.core.device.device import META
from dispatchviz.core.generated import register_composite_implicit_autograd
from dispatchviz.core.generated.register_schema import SCHEMAS
from dispatchviz.core.layers.functionalization.functional_wrapper import (
    commit_update,
    create_functional_tensor_with_view_meta,
    from_functional_tensor,
    is_functional_tensor,
    mutate_view_meta,
    reapply_views,
    replace_,
    sync,
)
from dispatchviz.core.layers.functionalization.operator_calls import call, operator
from dispatchviz.core.layers.functionalization.view_meta import VIEWS, ViewMeta
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.tensor.tensor import Tensor, empty_strided
from dispatchviz.core.thread.guards import AutoDispatchSkipFunctionalize, ExcludeDispatchKeyGuard
from dispatchviz.foundation.unlocked_property import cached_property

EXCLUDE_KEYS_FOR_META_DISPATCH = 0x127A000030000000
"""functorch, Python and PreDispatch, which are excluded while an in-place operator is tried on the meta device."""

Kernel = Callable[..., Any]

_OTHER_FUNCTIONAL = {"normal_": "normal_functional"}
"""In-place operators whose functional variant has another name."""

_OUT_OF = {
    "out": ("", "Tensor"),
    "Scalar_out": ("Scalar",),
    "Tensor_out": ("Tensor",),
    "Tensor_Tensor_out": ("Tensor_Tensor",),
    "Tensor_Scalar_out": ("Tensor_Scalar",),
    "IntList_out": ("dim_IntList",),
    "dtype_out": ("",),
    "out_mode": ("Tensor_mode",),
    "self_out": ("self",),
    "grad_input": ("",),
}
"""For each overload of an out= operator, the overloads that its functional variant may have."""


class Mutation:
    """The kernel of an in-place or out= operator."""

    def __init__(self, name: str, functional: str) -> None:
        self.name = name
        self.functional = functional

    @cached_property
    def op(self) -> OperatorEntry:
        """The operator itself, looked up when it first runs."""
        return operator(self.name)

    @cached_property
    def written(self) -> list[int]:
        """The positions of the arguments that are written to."""
        return [i for i, a in enumerate(self.op.schema.arguments) if a.is_write]

    def __call__(self, ks: int, *args: Any) -> Any:
        """Run the operator functionally. Raise RuntimeError if it would write the value of a wrapper to a plain
        tensor.
        """
        arguments = self.op.schema.arguments
        if not any(a.is_write and a.kwarg_only for a in arguments):
            self._try_on_meta(args)
        for value in args:
            _each(value, sync)
        inner = [_unwrapped(value) for value in args]
        if all(is_functional_tensor(args[i]) for i in self.written):
            self._functionalized(args, inner)
        else:
            self._not_functionalized(args, inner)
        return args[self.written[0]] if len(self.written) == 1 else tuple(args[i] for i in self.written)

    def _try_on_meta(self, args: tuple[Any, ...]) -> None:
        """Run the in-place operator on meta tensors, to raise the errors that its functional variant would not
        raise.
        """
        on_meta = [_on_meta(value) for value in args]
        with AutoDispatchSkipFunctionalize(), ExcludeDispatchKeyGuard(EXCLUDE_KEYS_FOR_META_DISPATCH):
            call(self.name, *on_meta)

    def _functionalized(self, args: tuple[Any, ...], inner: list[Any]) -> None:
        taken = [inner[i] for i, a in enumerate(self.op.schema.arguments) if not (a.is_write and a.kwarg_only)]
        with AutoDispatchSkipFunctionalize():
            result = call(self.functional, *taken)
        results = (result,) if len(self.written) == 1 else result
        for position, value in zip(self.written, results, strict=True):
            replace_(args[position], value)
            commit_update(args[position])
            sync(args[position])

    def _not_functionalized(self, args: tuple[Any, ...], inner: list[Any]) -> None:
        if any(_any_functional(value) for i, value in enumerate(args) if i not in self.written):
            raise RuntimeError(
                'false INTERNAL ASSERT FAILED at "build/aten/src/ATen/RegisterFunctionalization_0.cpp", please report '
                "a bug to PyTorch. mutating a non-functional tensor with a functional tensor is not allowed. Please "
                "ensure that all of your inputs are wrapped inside of a functionalize() call."
            )
        with AutoDispatchSkipFunctionalize():
            call(self.name, *inner)


def view(name: str) -> Kernel:
    """Return the kernel of an operator that makes a view. It syncs nothing before a read."""
    copying, _ = VIEWS[name]

    def run(ks: int, self: Tensor, *args: Any) -> Any:
        inner = _unwrapped(self)
        if not is_functional_tensor(self):
            with AutoDispatchSkipFunctionalize():
                return call(name, inner, *args)
        reapply = reapply_views()
        with AutoDispatchSkipFunctionalize():
            result = call(name if reapply else copying, inner, *args)
        if isinstance(result, Tensor):
            return create_functional_tensor_with_view_meta(result, self, ViewMeta(name, args, reapply))
        metas = [ViewMeta(name, args, reapply, index) for index in range(len(result))]
        return [create_functional_tensor_with_view_meta(v, self, m) for v, m in zip(result, metas, strict=True)]

    return run


def inplace_view(name: str, out_of_place: str) -> Kernel:
    """Return the kernel of an in-place view operator such as ``t_``."""

    def run(ks: int, self: Tensor, *args: Any) -> Any:
        if not is_functional_tensor(self):
            with AutoDispatchSkipFunctionalize():
                return call(name, self, *args)
        mutate_view_meta(self, ViewMeta(out_of_place, args, reapply_views()))
        return self

    return run


# -- arguments ---------------------------------------------------------------------------------------------------------


def _each(value: Any, function: Callable[[Tensor], Any]) -> None:
    for tensor in value if isinstance(value, (list, tuple)) else (value,):
        if isinstance(tensor, Tensor):
            function(tensor)


def _unwrapped(value: Any) -> Any:
    if isinstance(value, Tensor):
        return from_functional_tensor(value, assert_functional=False)
    if isinstance(value, list) or (isinstance(value, tuple) and any(isinstance(v, Tensor) for v in value)):
        return [_unwrapped(member) for member in value]
    return value


def _on_meta(value: Any) -> Any:
    if isinstance(value, Tensor):
        return empty_strided(value._size, value._stride, value._dtype, META)
    if isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value):
        return [_on_meta(member) for member in value]
    return value


def _any_functional(value: Any) -> bool:
    values = value if isinstance(value, (list, tuple)) else (value,)
    return any(isinstance(member, Tensor) and is_functional_tensor(member) for member in values)


# -- the table ---------------------------------------------------------------------------------------------------------


def kernels() -> dict[str, Kernel]:
    """The kernels of the model's operators that write or make views, by name without ``aten::``.

    Composite operators are listed only if they may return views. Their kernel is the composite itself, which calls
    other operators.
    """
    schemas = {text.partition("(")[0].removeprefix("aten::"): text for text in SCHEMAS.values()}
    composite: Mapping[str, Any] = register_composite_implicit_autograd.KERNELS
    found: dict[str, Kernel] = {name: view(name) for name in VIEWS if name in schemas and name != "_unsafe_view"}
    found |= {name: function for name, function in composite.items() if _MAY_BE_VIEW.search(schemas[name])}
    for name in sorted(schemas.keys() - found.keys() - composite.keys()):
        found.update(_writing(name, schemas.keys()))
    return found


_MAY_BE_VIEW = re.compile(r"\(a( -> \*)?\)")
"""A pattern of schemas whose result may share memory with an argument that is not written to."""


def _writing(name: str, names: Collection[str]) -> Iterator[tuple[str, Kernel]]:
    base, dot, overload = name.partition(".")
    if base.endswith("_") and not base.startswith("__"):
        plain = f"{base[:-1]}{_view_overload(base, dot, overload)}"
        if plain in VIEWS:
            yield name, inplace_view(name, plain)
        elif base not in ("resize_", "polygamma_"):  # polygamma takes its tensor second
            yield name, Mutation(name, f"{_OTHER_FUNCTIONAL.get(base, base[:-1])}{dot}{overload}")
    elif overload in _OUT_OF:
        spellings = [f"{base}.{variant}" if variant else base for variant in _OUT_OF[overload]]
        functional = next((spelling for spelling in spellings if spelling in names), None)
        if functional is not None:
            yield name, Mutation(name, functional)


def _view_overload(base: str, dot: str, overload: str) -> str:
    """The overload of the out-of-place view: ``transpose_`` is ``transpose.int`` in place."""
    return ".int" if base == "transpose_" else f"{dot}{overload}"
