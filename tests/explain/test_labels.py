"""Every kind of event has a label, a sign, a sentence and a rule, and says how it is known."""

from __future__ import annotations

import types
import typing
from typing import Any, get_args

import msgspec
import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header, Trace
from dispatchviz.explain.sentences.event_groups import SIGNS
from dispatchviz.explain.sentences.rules.knowledge import KNOWN, build_of, engine_text, is_unseen, said, unseen
from dispatchviz.explain.sentences.step_labels import LABELS, WIDTH, label, sign
from dispatchviz.explain.sentences.step_sentences import rule, why_here
from tests.steps import inside, line, step

from .founding import founding
from .programs import traced

ADD = """\
line 6  z = torch.add(x, y)
torch.add(x, y)
call aten::add.Tensor → AutogradCUDA
key set 0x1000010002
skipped ADInplaceOrView, BackendSelect
cell 97 AutogradCUDA: VariableType::add_Tensor
kernel VariableType::add_Tensor
Node AddBackward0, seq 0
Node AccumulateGrad (x)
AccumulateGrad (x) belongs to x
edges self → AccumulateGrad (x), other empty
saves alpha = 1
guard AutoDispatchBelowADInplaceOrView
redispatch aten::add.Tensor → CUDA
cell 2 CUDA: wrapper_CUDA_add_Tensor
kernel wrapper_CUDA_add_Tensor
structured_add_Tensor::meta
tensor z (t2)  [2, 2] float32 cuda:0
set_output_raw_strided: z (t2) [2, 2] float32 (functional)
structured_ufunc_add_CUDA::impl → z (t2)
returns z (t2)
guard AutoDispatchBelowADInplaceOrView ends
z (t2).grad_fn = AddBackward0
returns z (t2)
z = t2"""


def test_the_rows_of_the_add() -> None:
    trace = founding()
    assert "\n".join(label(trace, seq) for seq in inside(trace, line(trace, 6))) == ADD


def test_the_rows_of_the_backward() -> None:
    trace = founding()
    assert [label(trace, seq) for seq in inside(trace, step(trace, ev.BackwardStarted))][:9] == [
        "backward from SumBackward0",
        "grad mode off (backward without create_graph)",
        "2 edges counted",
        "SumBackward0 is ready",
        "run SumBackward0, seq 1",
        "tensor t5  [2, 2] float32 cuda:0",
        "SumBackward0 done",
        "AddBackward0 is ready",
        "run AddBackward0, seq 0",
    ]


def test_rows_are_short() -> None:
    trace = founding()
    assert max(len(label(trace, event.seq)) for event in trace) <= WIDTH


def test_a_hook_with_a_long_name_has_a_short_row() -> None:
    name = "hook" * 50
    trace = traced(f"""
    import torch
    def {name}(gradient):
        return gradient
    x = torch.ones(2, requires_grad=True)
    handle = x.register_hook({name})
    x.sum().backward()
    handle.remove()
    """)
    rows = [label(trace, step(trace, kind)) for kind in (ev.HookRegistered, ev.HookRan, ev.HookRemoved)]
    assert [len(row) for row in rows] == [WIDTH] * 3


THREAD = """\
import threading
import torch
x = torch.ones(2, requires_grad=True)
def forward():
    return x * 2
thread = threading.Thread(target=forward)
thread.start()
thread.join()
"""


def test_a_node_of_another_thread_says_so() -> None:
    trace = traced(THREAD)
    made = [event for event in trace if isinstance(event, ev.NodeCreated)]
    number = made[0].thread
    assert number != 1
    assert [label(trace, event.seq) for event in made] == [
        f"Node MulBackward0, seq 0, thread {number}",
        f"Node AccumulateGrad (x), thread {number}",
    ]
    assert f"sequence number 0 of thread {number}, which counts its own." in why_here(trace, made[0].seq)


KINDS = typing.get_args(ev.AnyEvent)


def plain(kind: Any) -> Any:
    """A value of a field's type."""
    if typing.get_origin(kind) is typing.Annotated:
        return plain(typing.get_args(kind)[0])
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return None
    if typing.get_origin(kind) is typing.Literal:
        return typing.get_args(kind)[0]
    return {int: 0, str: "word", bool: False}.get(kind, ())


def with_one_of(kind: type[ev.Event]) -> Trace:
    """The founding trace with an event of a kind at its end."""
    trace = founding()
    fields = [plain(field.type) for field in msgspec.structs.fields(kind)[2:]]
    added: Any = kind(len(trace), None, *fields)
    return Trace(trace.header, [*trace.events, added])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_is_explained(kind: type[ev.Event]) -> None:
    trace = with_one_of(kind)
    text = why_here(trace, len(trace) - 1)
    assert text[0].isupper() or text.startswith(("word", "t0", "x", "grad()"))
    assert "  " not in text
    assert label(trace, len(trace) - 1)
    assert sign(trace[-1]) in SIGNS.values()
    assert rule(trace[-1]).text.endswith(".")


def test_every_kind_has_a_function_for_its_label() -> None:
    assert set(LABELS) == set(KINDS)


def test_signs_are_told_apart_without_colour() -> None:
    assert len(set(SIGNS.values())) == len(SIGNS)
    assert all(len(sign) == 1 for sign in SIGNS.values())


def test_every_step_of_the_founding_program_is_a_sentence() -> None:
    trace = founding()
    for event in trace:
        if not isinstance(event, ev.SourceLine):
            assert why_here(trace, event.seq).endswith("."), event


KNOWN_KINDS = get_args(ev.AnyEvent)


def test_every_kind_is_known_somehow() -> None:
    assert set(KNOWN) == set(KNOWN_KINDS)


@pytest.mark.parametrize("kind", KNOWN_KINDS)
def test_fields_that_are_known_otherwise_are_fields(kind: type[ev.Event]) -> None:
    fields = {field.name for field in msgspec.structs.fields(kind)}

    assert set(KNOWN[kind].fields) <= fields
    assert all(how != KNOWN[kind].how for how, _ in KNOWN[kind].fields.values())


def test_what_is_said_of_a_mixed_kind() -> None:
    text = said(KNOWN[ev.KeySetComputed])

    assert text.startswith("observed: the sets of the arguments and of the thread are read")
    assert "; mask derived: from the registrations of this build; " in text


def test_what_is_said_of_an_unseen_kind() -> None:
    assert unseen(ev.NodeQueued) == "Not seen in a release build: counts and ready queues are inside the engine."


def test_nothing_of_the_model_is_unseen() -> None:
    header = Header(cuda="CuPy", program="x.py")

    assert not any(is_unseen(header, kind) for kind in KNOWN_KINDS)
    assert engine_text(header) == "the model of PyTorch 2.13.0, cuda: CuPy"


@pytest.mark.parametrize(("build", "name"), [("CPU", "cpu"), ("CUDA 12.8", "cuda"), ("ROCm 6.4", "cuda")])
def test_an_installed_pytorch(build: str, name: str) -> None:
    about = f"PyTorch 2.12.1, {build} build, release"
    header = Header(engine="torch", pytorch="2.12.1", cuda="none", build=about, program="x.py")

    assert is_unseen(header, ev.MetaEntered)
    assert engine_text(header) == "PyTorch 2.12.1 (installed, observed), cuda: none"
    assert build_of(header) == name
