"""The requirements of the tags ``out`` and ``inplace`` on a schema (``_validate_out_schema`` of
``torch/library.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dispatchviz.core.schema.function_schema import Argument, FunctionSchema
from dispatchviz.core.schema.schema_parser import parse_schema
from dispatchviz.core.schema.schema_types import schema_type
from dispatchviz.torch.tags import Tag


def check_tagged(schema: str, tags: Sequence[Tag]) -> None:
    """Raise ValueError with PyTorch's message if the schema of an operator does not match its tags."""
    for tag, problems in ((Tag.out, _problems_of_out), (Tag.inplace, _problems_of_inplace)):
        if tag in tags:
            parsed = parse_schema(schema)
            for problem in problems(parsed):
                start = "" if problem.startswith("Return") else f"Schema tagged with torch.Tag.{tag.name} "
                raise ValueError(f"{start}{problem} Got: {parsed}")


def _problems_of_out(schema: FunctionSchema) -> Iterator[str]:
    """Yield the problems in the order of PyTorch's checks; the first one is raised."""
    written = [argument for argument in schema.arguments if argument.is_write]
    if not written:
        yield "must have at least one mutable argument."
    positional = [argument.name for argument in written if not argument.kwarg_only]
    if positional:
        yield (
            "requires all mutable arguments to be keyword-only (after the *). Found mutable positional args: "
            f"{positional}."
        )
    others = [argument.name for argument in written if argument.type != "Tensor"]
    if others:
        yield f"only supports Tensor mutable arguments. Found unsupported mutable args: {others}."
    if len(schema.returns) != len(written):
        yield (
            f"must return all mutable arguments (got {len(written)} mutable args but {len(schema.returns)} returns)."
        )
    for position, (returned, argument) in enumerate(zip(schema.returns, written, strict=True)):
        yield from _problems_of_out_return(position, returned, argument)


def _problems_of_out_return(position: int, returned: Argument, argument: Argument) -> Iterator[str]:
    of_out = f"Return {position} of schema tagged with torch.Tag.out must"
    if returned.alias is None:
        yield f"{of_out} alias mutable arg '{argument.name}'."
    elif not returned.is_write:
        yield f"{of_out} be a mutable alias (e.g., Tensor(a!), not Tensor(a)) of arg '{argument.name}'."
    elif returned.alias != argument.alias:
        yield (
            f"{of_out} alias mutable arg '{argument.name}' (return aliases {_before(returned)} but arg aliases "
            f"{_before(argument)})."
        )


def _before(argument: Argument) -> set[str]:
    return {str(argument.alias).partition(" -> ")[0].replace("!", "")}


def _problems_of_inplace(schema: FunctionSchema) -> Iterator[str]:
    if not schema.arguments or schema.arguments[0].kwarg_only:
        yield "must have at least one positional argument."
    first = schema.arguments[0]
    if not first.is_write:
        yield "requires the first positional argument to be mutable (e.g., Tensor(a!))."
    if first.type != "Tensor":
        yield (
            f"requires the first positional argument to be a Tensor. Got type '{schema_type(first.type).name}' for "
            f"arg '{first.name}'."
        )
    if len(schema.returns) != 1:
        yield f"must return exactly one value (the first argument). Got {len(schema.returns)} returns."
    yield from _problems_of_inplace_return(first, schema.returns[0])
    others = [argument.name for argument in schema.arguments[1:] if argument.is_write]
    if others:
        yield f"must only mutate the first positional argument. Found additional mutable args: {others}."


def _problems_of_inplace_return(first: Argument, returned: Argument) -> Iterator[str]:
    must = "must return the first mutable argument"
    if returned.type != "Tensor":
        yield f"{must} (return must be a Tensor, got type '{schema_type(returned.type).name}')."
    if returned.alias is None:
        yield f"{must} (return must alias the first argument)."
    elif not returned.is_write:
        yield f"{must} (return must be a mutable alias, e.g., Tensor(a!))."
    elif returned.alias != first.alias:
        yield f"{must} (return aliases {_before(returned)} but first arg aliases {_before(first)})."
