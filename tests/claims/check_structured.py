"""Checks of structured kernels, with PyTorch's library, schemas and tensors; and of printing, with its profiler."""

from __future__ import annotations

import functools
import mmap
import re
from collections.abc import Callable
from pathlib import Path

import torch
from torchgen.model import FunctionSchema
from torchgen.model import SchemaKind as TorchgenKind

from dispatchviz.core.record import events as ev
from dispatchviz.explain.sentences.sentence_claims import CallsWithin, SchemaKind, Shape, StructuredFunction
from tests.claims.checks import Answer, Question, checks, difference


@functools.cache
def compiled_functions() -> frozenset[str]:
    """Return all names in the symbol table of the CPU library, such as ``structured_add_Tensor::meta``."""
    library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    with library.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        found = re.findall(rb"(structured_\w{1,80}?)4(meta|impl)(?=E)", content)
    return frozenset(f"{name.decode()}::{part.decode()}" for name, part in found)


@checks(StructuredFunction)
def structured_function(claim: StructuredFunction, question: Question) -> Answer:
    """Look up the function. The library of a build without CUDA has no functions that only CUDA uses."""
    if "cuda" in claim.function.lower():
        return None
    return difference(claim.function, claim.function if claim.function in compiled_functions() else "no such function")


_KINDS = {TorchgenKind.functional: "functional", TorchgenKind.inplace: "in-place", TorchgenKind.out: "out"}


@checks(SchemaKind)
def schema_kind(claim: SchemaKind, question: Question) -> Answer:
    """Check with torchgen, which writes the three classes."""
    name, _, overload = claim.operator.partition(".")
    schema = _schema(name, overload)
    return difference(claim.kind, _KINDS[FunctionSchema.parse(schema).kind()])


def _schema(name: str, overload: str) -> str:
    """The schema as in the yaml file: without the namespace, and with SymInts."""
    schema = str(torch._C._get_schema(name, overload)).removeprefix("aten::")
    return re.sub(r"\[[\d, ]*\]", lambda numbers: numbers[0].replace(" ", ""), schema)  # torchgen splits at ", "


@checks(Shape)
def shape(claim: Shape, question: Question) -> Answer:
    """Compare the shape, unless the tensor gets another shape later in the statement."""
    name = question.tensor(claim.tensor)
    if name is None or any(event.tensor == claim.tensor for event in question.later(ev.GeometryChanged)):
        return None
    return difference(claim.shape, tuple(question.pytorch.tensor(name).shape))


@checks(CallsWithin)
def calls_within(claim: CallsWithin, question: Question) -> Answer:
    """Check with the profiler, which sees every call and no redispatch. A tensor loses its tangent with its dual
    level.
    """
    name = question.tensor(claim.tensor)
    if name is None or any(question.later(ev.DualLevelLeft)):
        return None
    if re.search("printoptions|tensor_contents", question.shared.source):
        return None  # by the end of the statement the options may have changed, and some words may be given
    torch.set_printoptions(profile="default")  # other programs may have left some
    tensor = question.fresh_run().tensor(name)
    words: Callable[[], str] = (lambda: repr(tensor)) if claim.function == "Tensor.__repr__" else (lambda: f"{tensor}")
    with torch.autograd.profiler.profile() as profiler:
        words()
    called = [event.name() for event in profiler.kineto_results.events()]
    return difference(claim.calls, sum(each.startswith("aten::") for each in called))
