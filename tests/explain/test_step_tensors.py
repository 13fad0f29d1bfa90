"""The facts about a tensor as of a step equal those of the machine's own tensor at that step."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.autograd.variables.variable import current_version, requires_grad
from dispatchviz.core.record import events as ev
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.explain.trace_index.step_tensors import tensors_of, variables_of
from dispatchviz.explain.trace_index.tensor_card import TensorCard, tensor_card
from dispatchviz.running.program import run
from dispatchviz.testing import event
from dispatchviz.trace import Trace
from tests.steps import step
from tests.watching_recorder import WatchingRecorder
from truth import programs
from truth.observers.runs import in_new_thread


class Stood(NamedTuple):
    """The state of a tensor when an event was noted."""

    shape: tuple[int, ...]
    key_set: int
    requires_grad: bool
    version: int | None
    dtype: str
    device: str


class Watching(WatchingRecorder[dict[int, Stood]]):
    """A recorder that looks at the tensors of a program's variables at each note."""

    variables: dict[str, Any]

    def _look(self, facts: tuple[Any, ...]) -> dict[int, Stood]:
        """The states of the tensors, by number."""
        values = [value for value in Watching.variables.values() if isinstance(value, Tensor)]
        return {each._number - self.first_tensor: _standing(each) for each in values}


def _standing(tensor: Tensor) -> Stood:
    try:
        version = current_version(tensor)
    except RuntimeError:
        version = None
    return Stood(
        tuple(tensor._size), tensor._ks, requires_grad(tensor), version, str(tensor._dtype), str(tensor._device)
    )


def watched(monkeypatch: pytest.MonkeyPatch, source: str) -> tuple[Trace, list[dict[int, Stood]]]:
    """The trace of a program, and what the tensors of its variables were at each event."""

    def record() -> Trace:
        Watching.variables = {"torch": torch, "__name__": "__main__"}
        with dispatchviz.record() as trace, contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(source.replace("import torch\n", "", 1), "watched", "exec"), Watching.variables)
        return trace

    monkeypatch.setattr("dispatchviz.running.recording.ProgramRecorder", Watching)
    trace = in_new_thread(record)
    assert Watching.newest.failed is None
    return trace, Watching.newest.stood


SUBJECTS = ["views", "in_place", "geometry", "setting_memory", "autograd", "inference", "modes", "functions"]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_card_says_what_the_tensor_is(monkeypatch: pytest.MonkeyPatch, subject: str) -> None:
    untold = all_ = 0
    for name, source in list(programs.SUBJECTS[subject].items())[::2]:
        trace, stood = watched(monkeypatch, source)
        for at, tensors in enumerate(stood):
            if not isinstance(trace[at], ev.BindingEntered):  # within a call, a tensor changes before its event
                continue
            for number, stands in tensors.items():
                card = tensor_card(trace, number, at)
                assert card is not None, (name, at, number)
                said = Stood(card.shape, card.key_set, card.requires_grad, card.version, card.dtype, card.device)
                untold += card.version is None and stands.version is not None
                all_ += 1
                expected = stands if card.version is not None else stands._replace(version=None)
                assert said == expected, (name, at, card.name)
    assert untold <= all_ // 20, "of nearly all tensors the version is told"


PROGRAM = """
x = torch.ones(2, 2, requires_grad=True)
w = torch.ones(2)
row = w.view(2, 1)
w.add_(1)
y = x * w
loss = y.sum()
loss.backward()
after = w + 1
"""


def test_memory_and_who_keeps_it() -> None:
    with dispatchviz.record() as trace:
        exec(PROGRAM, {"torch": torch})
    summed = step(trace, event(ev.BindingEntered, function="Tensor.sum"))
    w = next(e.tensor for e in trace if isinstance(e, ev.VersionBumped))
    card = tensor_card(trace, w, summed)
    assert card is not None
    assert (card.shape, card.version, card.requires_grad, card.more_mates) == ((2,), 1, False, 0)
    assert [(saved.node, saved.name, saved.version) for saved in card.saved] == [("MulBackward0", "other", 1)]
    (mate,) = card.mates
    last = tensor_card(trace, w, len(trace) - 1)
    assert last is not None
    assert last.saved == (), "backward has released what was saved"
    view = next(e.tensor for e in trace if isinstance(e, ev.ViewMade))
    of_view = tensor_card(trace, view, summed)
    assert of_view is not None
    assert (of_view.base, of_view.version, mate) == (card.name, 1, of_view.name)
    assert tensor_card(trace, w, 0) is None, "it is not there yet"


def test_step_lists_its_tensors() -> None:
    with dispatchviz.record() as trace:
        exec(PROGRAM, {"torch": torch})
    call = step(trace, event(ev.Dispatched, operator="aten::mul.Tensor", how="call"))
    x, w = (tensor for _, tensor, _ in trace[call + 1].arguments)  # type: ignore[union-attr]
    kernel = step(trace, event(ev.KernelEntered, kernel="wrapper_CPU_mul_Tensor"))
    assert tensors_of(trace, call)[:2] == tensors_of(trace, kernel)[:2] == [x, w]
    runs = step(trace, event(ev.NodeStarted, name="MulBackward0"))
    assert w in tensors_of(trace, runs)
    assert variables_of(trace, 0) == []


GRADIENTS = """
import torch
x = torch.ones(2, requires_grad=True)
y = x * 3
y.sum().backward()
print()
x.grad = None
print()
"""


def test_a_variable_has_its_gradient_beside_it(tmp_path: Path) -> None:
    script = tmp_path / "gradients.py"
    script.write_text(GRADIENTS)
    trace = run(str(script)).trace
    printed = [event.seq for event in trace if isinstance(event, ev.SourceLine) and event.line in (6, 8)]
    shown = [[tensor_name(trace, tensor, at) for tensor in variables_of(trace, at)] for at in printed]
    assert shown == [["y", "x", "x.grad"], ["y", "x"]]


TAKEN_OVER = """
import torch
x = torch.ones(2, requires_grad=True)
y = torch.zeros(3, 1, dtype=torch.float64, device="cuda")
z = x.detach()
x.data = y
y.add_(1)
"""


def test_data_that_is_set_is_all_of_the_other_tensor() -> None:
    trace = run("-", (), io.StringIO(), TAKEN_OVER.encode()).trace
    (at,) = trace.steps_of(ev.GeometryChanged)
    x, y, z = (next(e.tensor for e in trace if isinstance(e, ev.NameBound) and e.name == name) for name in "xyz")

    def card(tensor: int, at: int) -> TensorCard:
        found = tensor_card(trace, tensor, at)
        assert found is not None
        return found

    before, after = card(x, at - 2), card(x, at)
    assert (before.shape, before.dtype, before.device) == ((2,), "torch.float32", "cpu")
    assert (after.shape, after.dtype, after.device) == ((3, 1), "torch.float64", "cuda:0")
    assert after.key_set == card(y, at).key_set != before.key_set
    assert before.mates == ("z",)
    assert after.mates == ("y",)
    assert card(y, at).mates == ("x",)
    assert card(z, at).mates == ()
    said = why_here(trace, at)
    assert said == (
        "x takes over the data of another tensor but stays the same tensor. It is now [3, 1] float64 on cuda:0, with "
        "strides [1, 1]."
    )


UNDER_NO_GRAD = """
import torch
x = torch.ones(2, 2, requires_grad=True)
with torch.no_grad():
    v = x[0]
    w = v * 1
detached = x.detach()[0]
base = torch.ones(2, 2)
with torch.no_grad():
    late = base[0]
base.mul_(x)
after = 1
"""


def test_a_view_made_under_no_grad_requires_grad_with_its_base() -> None:
    """Compare with ``v.requires_grad`` in a real PyTorch."""
    trace = run("-", (), io.StringIO(), UNDER_NO_GRAD.encode()).trace
    held = {e.name: (e.tensor, e.seq) for e in trace if isinstance(e, ev.NameBound)}

    def needed(name: str, at: int) -> bool:
        card = tensor_card(trace, held[name][0], at)
        assert card is not None
        return card.requires_grad

    assert [needed(name, held[name][1]) for name in ("v", "w", "detached", "late")] == [True, False, False, False]
    assert needed("late", len(trace) - 1), "its base got a history"
