"""Schemas from the type annotations of Python functions (``torch/_library/infer_schema.py``).

Rule 1: a table (``annotations.py``) gives the meaning of each annotation; other types are refused.
Rule 2: outputs alias nothing, except for the tags ``inplace`` and ``out``.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterable, Iterator
from types import GenericAlias
from typing import Any, NamedTuple, NoReturn

from dispatchviz.core.device.device import Device
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._library.annotations import SUPPORTED_PARAM_TYPES, SUPPORTED_RETURN_TYPES
from dispatchviz.torch.tags import Tag, Tags, normalized

UNKNOWN = "unknown"
"""The value of ``mutates_args`` with which every tensor argument may be written to."""


class _Parameter(NamedTuple):
    """One parameter, parsed."""

    name: str
    type: str
    """The schema type, without the alias annotation."""
    alias: str
    """The alias annotation: ``a0!`` if the argument is written to, else empty."""
    declaration: str

    @property
    def annotated(self) -> str:
        return f"{self.type[:6]}({self.alias}){self.type[6:]}" if self.alias else self.type


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: Tags = (),
) -> str:
    """Return the schema of a function with type annotations. Raise ValueError with PyTorch's message if it cannot have
    one.

    ``mutates_args``: names of the arguments that are written to, or ``unknown``.
    """
    return _Inference(prototype_function, mutates_args, normalized(tags)).schema(op_name or "")


class _Inference:
    """Schema inference of one function."""

    def __init__(self, function: Callable[..., Any], mutates_args: str | Iterable[str], tags: tuple[Tag, ...]) -> None:
        self._globals = getattr(function, "__globals__", {})
        self._signature = inspect.signature(function)
        self._mutates = mutates_args if isinstance(mutates_args, str) else tuple(mutates_args)
        self._inplace, self._out = Tag.inplace in tags, Tag.out in tags
        if self._inplace and self._out:
            raise AssertionError("torch.Tag.inplace and torch.Tag.out are mutually exclusive")

    def schema(self, name: str) -> str:
        """Return the whole schema."""
        parameters = list(self._parameters())
        self._check_mutated(parameters)
        if self._inplace:
            self._check_inplace(parameters)
        returned = self._return(parameters)
        kinds = [parameter.kind for parameter in self._signature.parameters.values()]
        arguments = [parameter.declaration for parameter in parameters]
        if inspect.Parameter.KEYWORD_ONLY in kinds:
            arguments.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
        return f"{name}({', '.join(arguments)}) -> {returned}"

    def _fail(self, what: str) -> NoReturn:
        text = f"infer_schema(func): {what} Got func with signature {self._signature})"
        raise ValueError(_with_pytorch_class_names(text))

    # -- parameters ---------------------------------------------------------------------------------------------------

    def _parameters(self) -> Iterator[_Parameter]:
        for index, (name, parameter) in enumerate(self._signature.parameters.items()):
            if parameter.kind not in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY):
                self._fail("We do not support positional-only args, varargs, or varkwargs.")
            if parameter.annotation is inspect.Parameter.empty:
                self._fail(f"Parameter {name} must have a type annotation.")
            kind = self._schema_type(name, parameter)
            read = _Parameter(name, kind, self._alias(index, name, kind), "")
            if self._out and read.alias:
                self._check_out(parameter, kind)
            yield read._replace(declaration=f"{read.annotated} {name}{self._default(parameter)}")

    def _schema_type(self, name: str, parameter: inspect.Parameter) -> str:
        annotation = self._evaluated(parameter.annotation)
        found = SUPPORTED_PARAM_TYPES.get(annotation)
        if found is not None:
            return found
        advice = ""
        if typing.get_origin(annotation) is tuple:
            advice = (
                "We do not support Tuple inputs in schema. As a workaround, please try to use List instead. "
                f"{_as_list(annotation)}"
            )
        return self._fail(
            f"Parameter {name} has unsupported type {parameter.annotation}. {advice}The valid types are: "
            f"{SUPPORTED_PARAM_TYPES.keys()}."
        )

    def _alias(self, index: int, name: str, kind: str) -> str:
        is_tensor = kind.startswith("Tensor")
        if isinstance(self._mutates, str):
            if self._mutates != UNKNOWN:
                raise ValueError(
                    "mutates_args must either be a sequence of the names of the arguments that are mutated or the "
                    "string 'unknown'. "
                )
            return f"a{index}!" if is_tensor else ""
        if name not in self._mutates:
            return ""
        if not is_tensor:
            self._fail(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
        return f"a{index}!"

    def _check_out(self, parameter: inspect.Parameter, kind: str) -> None:
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            self._fail("torch.Tag.out requires mutable arguments to be keyword-only.")
        if kind != "Tensor":
            self._fail("torch.Tag.out only supports mutable keyword-only Tensor arguments.")

    def _default(self, parameter: inspect.Parameter) -> str:
        value = parameter.default
        if value is inspect.Parameter.empty:
            return ""
        if value is None or isinstance(value, (int, float, bool)):
            return f"={value}"
        if isinstance(value, (str, Device)):
            return f'="{value}"'
        if isinstance(value, DType):
            return f"={value.name}"
        return self._fail(
            f"Parameter {parameter.name} has an unsupported default value type {type(value)}. Please file an issue on "
            "GitHub so we can prioritize this."
        )

    def _check_mutated(self, parameters: list[_Parameter]) -> None:
        unseen = set() if isinstance(self._mutates, str) else set(self._mutates) - {p.name for p in parameters}
        if unseen:
            self._fail(
                f"{unseen} in mutates_args were not found in the custom op's signature. mutates_args should contain "
                "the names of all args that the custom op mutates, or just the string 'unknown' if you don't know."
            )

    def _check_inplace(self, parameters: list[_Parameter]) -> None:
        first = self._first_positional(parameters)
        if first is None:
            self._fail("torch.Tag.inplace requires a positional Tensor argument.")
        if first.type != "Tensor":
            self._fail("torch.Tag.inplace requires the first positional argument to be a Tensor.")
        if isinstance(self._mutates, str) or set(self._mutates) != {first.name}:
            self._fail(
                "torch.Tag.inplace requires mutates_args to contain exactly the first positional argument, got "
                f"{self._mutates}."
            )

    def _first_positional(self, parameters: list[_Parameter]) -> _Parameter | None:
        kinds = self._signature.parameters
        positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return next((p for p in parameters if kinds[p.name].kind is positional), None)

    # -- returns ------------------------------------------------------------------------------------------------------

    def _return(self, parameters: list[_Parameter]) -> str:
        annotation = self._evaluated(self._signature.return_annotation)
        if self._out:
            return self._out_return(annotation, [p for p in parameters if p.alias])
        returned = self._plain_return(annotation)
        if not self._inplace:
            return returned
        if returned != "Tensor":
            self._fail("torch.Tag.inplace requires the return annotation to be torch.Tensor.")
        first = self._first_positional(parameters)
        assert first is not None, "checked before"
        return f"Tensor({first.alias})"

    def _plain_return(self, annotation: Any) -> str:
        if annotation is None:
            return "()"
        if annotation is inspect.Parameter.empty:
            self._fail("No return type annotation was provided. Please add one.")
        several = typing.get_origin(annotation) is tuple
        parts = typing.get_args(annotation) if several else (annotation,)
        if any(part not in SUPPORTED_RETURN_TYPES for part in parts):
            self._fail(f"Return has unsupported type {annotation}. The valid types are: {SUPPORTED_RETURN_TYPES}.")
        types = [SUPPORTED_RETURN_TYPES[part] for part in parts]
        if not several:
            return types[0]
        return f"(({types[0]}))" if len(types) == 1 else f"({', '.join(types)})"

    def _out_return(self, annotation: Any, written: list[_Parameter]) -> str:
        """Return the return type: one ``Tensor`` for each argument that is written to."""
        if not written:
            self._fail("torch.Tag.out requires at least one mutable keyword-only Tensor argument.")
        one = len(written) == 1
        fits = annotation is Tensor if one else annotation == GenericAlias(tuple, (Tensor,) * len(written))
        if not fits:
            self._fail(
                "torch.Tag.out requires the return annotation to match the mutable keyword-only Tensor arguments "
                f"{tuple(parameter.name for parameter in written)}."
            )
        types = [f"Tensor({parameter.alias})" for parameter in written]
        return types[0] if len(types) == 1 else f"({', '.join(types)})"

    # -- annotations --------------------------------------------------------------------------------------------------

    def _evaluated(self, annotation: Any) -> Any:
        """Evaluate annotations that are strings, also inside a generic type."""
        if isinstance(annotation, str):
            return self._named(annotation)
        origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
        evaluated = tuple(self._evaluated(part) for part in parts)
        changed = any(new is not old for new, old in zip(evaluated, parts, strict=True))
        return GenericAlias(origin, evaluated) if origin is not None and changed else annotation

    def _named(self, text: str) -> Any:
        """Evaluate the user's own annotation in the scope where the user wrote it."""
        try:
            return eval(text, self._globals)
        except NameError as error:
            self._fail(
                f"Unsupported type annotation {text}. It is not a type. ({error}). If you are using 'from __future__ "
                "import annotations', note that annotations are evaluated lazily as strings; make sure all types "
                "referenced in annotations are importable at module scope, not only inside a local function."
            )
        except Exception as error:
            self._fail(f"Unsupported type annotation {text}. It is not a type. ({type(error).__name__}: {error})")


def _as_list(annotation: Any) -> str:
    """Return the list annotation to use instead of a tuple, if one is supported."""
    parts = typing.get_args(annotation)
    if len(parts) == 2 and parts[1] is Ellipsis:
        parts = parts[:1]
    candidate: Any = GenericAlias(list, (typing.Union[parts],)) if parts else list  # noqa: UP007
    return f"For example, {candidate}.\n\n" if candidate in SUPPORTED_PARAM_TYPES else "\n\n"


def _with_pytorch_class_names(text: str) -> str:
    """Replace names of our classes by PyTorch's."""
    for ours, theirs in ((Tensor, "Tensor"), (DType, "dtype"), (Device, "device")):
        text = re.sub(rf"\b{re.escape(f'{ours.__module__}.{ours.__qualname__}')}\b", f"torch.{theirs}", text)
    return text
