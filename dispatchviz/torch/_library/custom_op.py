"""The decorator ``torch.library.custom_op`` (``torch/_library/custom_ops.py``). Its result is in ``custom_ops.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import overload

from dispatchviz.torch._library.custom_ops import CustomOpDef, DeviceTypes, Function
from dispatchviz.torch._library.infer_schema import infer_schema
from dispatchviz.torch.tags import Tags, normalized


@overload
def custom_op(
    name: str,
    fn: None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: DeviceTypes = None,
    schema: str | None = None,
    tags: Tags = None,
) -> Callable[[Function], CustomOpDef]: ...


@overload
def custom_op(
    name: str,
    fn: Function,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: DeviceTypes = None,
    schema: str | None = None,
    tags: Tags = None,
) -> CustomOpDef: ...


def custom_op(
    name: str,
    fn: Function | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: DeviceTypes = None,
    schema: str | None = None,
    tags: Tags = None,
) -> Callable[[Function], CustomOpDef] | CustomOpDef:
    """Make a function the operator ``name`` (``namespace::name``). Without ``fn``, return a decorator.

    The schema is inferred from the annotations unless it is given. Raise ValueError if it cannot be inferred, or if it
    does not write to ``mutates_args``.
    """

    def made(function: Function) -> CustomOpDef:
        own = normalized(tags)
        text = infer_schema(function, mutates_args=mutates_args, tags=own) if schema is None else schema
        namespace, opname = name.split("::")
        definition = CustomOpDef(namespace, opname, text, function, own)
        if schema is not None:
            _check_mutated(definition, schema, mutates_args)
        definition.register_kernel(device_types)(function)
        definition._opoverload._enable_pyobj_dispatch(True)
        return definition

    return made if fn is None else made(fn)


def _check_mutated(definition: CustomOpDef, schema: str, mutates_args: str | Iterable[str]) -> None:
    written = {argument.name for argument in definition._parsed.arguments if argument.is_write}
    if written != set(mutates_args):
        raise ValueError(
            f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}. The schema "
            f"suggests that the op mutates {written or 'set()'}which is different from what was provided to us in "
            "`mutates_args`. Please make these consistent."
        )
