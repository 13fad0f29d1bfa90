"""A field whose values form a closed vocabulary is a Literal, and each value of each vocabulary occurs."""

from __future__ import annotations

import functools
import typing
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Literal

import msgspec
import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.running.process_state import clean_process_state
from tests.live.compiled_program import RECORDING
from truth.observers.runs import Run, in_new_thread
from truth.programs import PROGRAMS
from truth.questions.stack_contents import BEFORE, CALLS

KINDS: tuple[type[ev.Event], ...] = typing.get_args(ev.AnyEvent)

SMALL = 12
"""The largest number of different texts, over all programs, of a field that may have a closed vocabulary."""

EVERY = 8
"""One in ``EVERY`` of the stored programs runs, and those of ``RARE``, which have rare values."""

RARE = (
    "autocast_weight_twice",
    "autograd_fallback_in_place",
    "backward_of_an_interior_input",
    "backward_of_one_input",
    "dual_in_place",
    "forum_cpu_in_place_on_leaf",
    "func_jvp",
    "function_dirty_view",
    "function_jvp_in_place",
    "function_non_differentiable_leaf_of_its_own",
    "function_returned_views_are_not_written_to",
    "function_returns_its_input",
    "gradcheck_of_exp",
    "hook_order_of_all_kinds",
    "inference_mode_add",
    "norm_twice",
    "retain_grad",
    "saved_hooks_pack_and_unpack",
    "saved_hooks_registered_late_and_later_writes",
    "saved_mutation_allowed",
    "tangent_of_view_through_base",
    "write_to_conj_tangent",
)

CHOSEN_BY_KEY = """
import torch

x = torch.ones(2)

def redispatched(op, key, *args):
    try:
        op.redispatch(torch._C.DispatchKeySet(key), *args)
    except (RuntimeError, NotImplementedError):
        pass

with torch.library._scoped_library("dvz_vocabulary", "DEF") as lib:
    lib.define("nowhere(Tensor x) -> Tensor")
    lib.define("twice(Tensor x) -> Tensor")
    lib.impl("twice", lambda x: x + x, "CompositeImplicitAutograd")
    lib.impl("twice", lambda x: x + x, "MkldnnCPU")
    redispatched(torch.ops.dvz_vocabulary.nowhere.default, torch._C.DispatchKey.CPU, x)
    redispatched(torch.ops.dvz_vocabulary.twice.default, torch._C.DispatchKey.AutogradOther, x)
redispatched(torch.ops.aten.reshape.default, torch._C.DispatchKey.AutogradNestedTensor, x, [2, 1])
redispatched(torch.ops.aten.add.Tensor, torch._C.DispatchKey.PrivateUse1, x, x)
with torch._C._EnablePythonDispatcher():
    torch.add(x, x)
"""
"""Entries that no tensor of the model selects: empty, ambiguous, of nested tensors, of a backend of its own; and a call
by key.
"""

SUBCLASS = """
import torch

class Zeros(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return torch.zeros(2)

torch.Tensor._make_subclass(Zeros, torch.ones(2)) + 1
"""

CREATE_GRAPH_TWICE = """
import torch

x = torch.ones(2, requires_grad=True)
for _ in range(2):
    (x * x).sum().backward(create_graph=True)
"""

GRADIENT_THAT_OVERLAPS_ITSELF = """
import torch

class Overlapping(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return torch.empty_strided((2,), (0,))

x = torch.ones(2, requires_grad=True)
y = x * 1
(Overlapping.apply(y) + Overlapping.apply(y)).sum().backward()
"""

STREAMS = """
import torch

s = torch.cuda.Stream()
x = torch.ones(2, device="cuda", requires_grad=True)
with torch.cuda.stream(s):
    y = x * 2
    z = x * 3
torch.cuda.current_stream().wait_stream(s)
y.record_stream(torch.cuda.current_stream())
(y.sum() + z.sum() + (x * x).sum()).backward()
"""

WRITES_IN_PLACE = """
import torch

x = torch.ones(2, requires_grad=True)
with torch.no_grad():
    x.mul_(2)
try:
    x.view(2, 1).mul_(2)
except RuntimeError:
    pass
"""

VALUES_ON_A_STACK = f"""{BEFORE}
lib.define("thing(Any a) -> Any")
lib.impl("thing", lambda a: None, "CompositeExplicitAutograd")
mine.thing(object())
{chr(10).join(CALLS.values())}
"""

PYTHON_OBJECTS = """
import torch

@torch.library.custom_op("dvz_objects::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2

twice.register_autograd(lambda ctx, grad: grad * 2)
twice(torch.ones(2, requires_grad=True))
"""

OWN = (
    VALUES_ON_A_STACK, WRITES_IN_PLACE, CHOSEN_BY_KEY, SUBCLASS, CREATE_GRAPH_TWICE, GRADIENT_THAT_OVERLAPS_ITSELF,
    STREAMS, PYTHON_OBJECTS,
)  # fmt: skip

OPEN = {
    "names that the program gives": (
        "CellsRecomputed.operator", "CompileStarted.file", "CompileStarted.function", "ErrorRaised.exception",
        "FunctionEntered.file", "FinalCallbackCalled.function", "GraphBroken.file",
        "FinalCallbackQueued.function", "HookRan.function", "HookRegistered.function", "KernelRegistered.kernel",
        "KernelRegistered.operator", "ModuleCalled.kind", "ModuleCalled.name", "NameBound.name", "NameUnbound.name",
        "NodeStarted.file",
        "OperatorDefined.operator", "OperatorDefined.schema", "ProgramRaised.exception", "ProgramRaised.file",
        "SavedTensorHookRan.function", "SavedTensorHookRan.packed", "SourceLine.file", "SourceLine.function",
        "Warned.category", "Warned.file", "TorchDispatchEntered.handler", "TorchDispatchEntered.types",
        "TorchDispatchLeft.handler",
    ),
    "of numbers, and only in recordings that are asked for it": ("NumbersRecorded.numbers", "ResultHashed.hash"),
    "only in recordings of a distributed program on an installed PyTorch": (
        "CollectiveCalled.operator", "CollectiveCalled.group", "CollectiveCalled.dtype",
    ),
    "a dispatch mode's class, which acts like a guard, may be the program's": ("GuardEntered.guard", "GuardLeft.guard"),
    "dispatch keys, dtypes and devices have modules of their own, which know the names": (
        "AutocastCast.after", "AutocastCast.before", "AutocastChanged.device", "AutocastChanged.dtype",
        "FallthroughSkipped.keys[0]", "GeometryChanged.device", "GeometryChanged.dtype", "KernelRegistered.key",
        "NodeQueued.device", "NodeStarted.device", "OutputAllocated.dtype", "TensorCreated.device",
        "TensorCreated.dtype",
    ),
    "as many as PyTorch has operators, parameters, registrations": (
        "FallthroughSkipped.keys[2]",
        "GraphCaptured.saved",
        "NodeCaptured.content",
        "NodeCaptured.name",
        "SavedTensorHookRan.name",
        "TorchDispatchEntered.arguments[0]",
        "TorchDispatchEntered.function",
        "VariableNotSaved.name",
    ),
    "composed: the name of a Node or device, or of what is left, is part of it": (
        "GradModeChanged.why",
        "KernelSelected.candidates[1]",
        "NodeStarted.thread",
        "StreamChanged.why",
        "StreamWaited.why",
    ),
    "any text": (
        "AnomalyFound.lines", "CompileFinished.message", "CompileStarted.compile_id", "GraphBroken.reason",
        "GuardFailed.reason", "Boxed.contents[1]", "Unboxed.contents[1]", "Printed.text", "StackStored.frame",
        "ProgramRaised.message", "ProgramRaised.traceback", "TorchDispatchEntered.arguments[1]", "Unknown.fields",
        "Unknown.kind", "Warned.message",
    ),
}  # fmt: skip
"""The reasons why a position with few different texts has no closed vocabulary."""


def leaves(path: str, kind: Any) -> Iterator[tuple[str, Any]]:
    """Path and type of each str or Literal within a field's type; a member of a tuple of fixed length has an index."""
    arguments = typing.get_args(kind)
    if kind is str or typing.get_origin(kind) is Literal:
        yield path, kind
    elif typing.get_origin(kind) is tuple and Ellipsis not in arguments:
        for index, member in enumerate(arguments):
            yield from leaves(f"{path}[{index}]", member)
    else:
        for member in arguments:
            yield from leaves(path, member)


def texts(path: str, kind: Any, value: Any) -> Iterator[tuple[str, str]]:
    """Path and text of each text within a field's value."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, tuple):
        arguments = typing.get_args(kind)
        if Ellipsis in arguments:
            for member in value:
                yield from texts(path, arguments[0], member)
        else:
            for index, member in enumerate(value):
                yield from texts(f"{path}[{index}]", arguments[index], member)


@functools.cache
def fields_with_text(kind: type[ev.Event]) -> list[tuple[str, str, Any]]:
    """Name, path and type."""
    fields = [(field.name, f"{kind.__name__}.{field.name}", field.type) for field in msgspec.structs.fields(kind)[2:]]
    return [(name, path, type_) for name, path, type_ in fields if list(leaves(path, type_))]


def recorded(source: str) -> Trace:
    with clean_process_state(), dispatchviz.record() as trace:
        Run(torch, source).whole()
    return trace


def _add_texts(trace: Trace, found: defaultdict[str, set[str]]) -> None:
    for event in trace:
        for name, path, kind in fields_with_text(type(event)):
            for place, text in texts(path, kind, getattr(event, name)):
                found[place].add(text)


@pytest.fixture(scope="module")
def seen() -> dict[str, set[str]]:
    """The texts that occur in the traces of all programs, by path. Each trace is saved and opened again."""
    sources = [PROGRAMS[name] for name in (*list(PROGRAMS)[::EVERY], *RARE)]
    found: defaultdict[str, set[str]] = defaultdict(set)
    _add_texts(dispatchviz.load(RECORDING), found)
    for source in (*sources, *OWN):
        trace = in_new_thread(functools.partial(recorded, source))
        _add_texts(trace, found)
        again = Trace.decoded(trace.encoded(), "t.jsonl")
        assert not again.notice, again.notice
        assert list(again) == list(trace)
    return found


@pytest.mark.long
def test_each_value_of_each_vocabulary_occurs(seen: dict[str, set[str]]) -> None:
    occurring: defaultdict[Any, set[str]] = defaultdict(set)
    for kind in KINDS:
        for _, path, type_ in fields_with_text(kind):
            for place, leaf in leaves(path, type_):
                occurring[leaf] |= seen[place]
    del occurring[str]
    assert not {value for vocabulary, met in occurring.items() for value in {*typing.get_args(vocabulary)} - met}


@pytest.mark.long
def test_field_with_few_values_is_a_literal(seen: dict[str, set[str]]) -> None:
    plain = {
        place
        for kind in KINDS
        for _, path, type_ in fields_with_text(kind)
        for place, leaf in leaves(path, type_)
        if leaf is str
    }
    listed = {place for places in OPEN.values() for place in places}
    assert not listed - plain
    assert not {place: seen[place] for place in plain - listed if len(seen[place]) <= SMALL}
