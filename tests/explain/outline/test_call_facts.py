"""Check that rows name the operators that a line called, with all their keys, as in PyTorch's own log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.key_set_card import key_set_card
from dispatchviz.explain.keys.key_text import is_backend
from dispatchviz.explain.outline.call_facts import call_facts, call_text, plain_operator
from dispatchviz.explain.outline.row_texts import event_texts
from dispatchviz.explain.trace_index.call_chains import Chain, call_chain, outermost_calls
from tests.amounts import amount, some
from tests.explain.programs import traced
from tests.steps import line
from truth import records

EXAMPLES = Path(__file__).parents[3] / "examples"


def calls_in_row(trace: Trace, number: int) -> list[str]:
    """Return the calls in the row of a line."""
    begin = line(trace, number)
    end = next((step for step in trace.steps_of(ev.SourceLine) if step > begin), len(trace)) - 1
    return [text for text, _ in call_facts(trace, begin, end)]


def test_founding_program_has_its_calls_in_rows() -> None:
    trace = traced((EXAMPLES / "forum.py").read_text(encoding="utf-8"))
    assert calls_in_row(trace, 3) == ["randn → BackendSelect → CPU", "to → AutogradCPU (composite: _to_copy)"]
    assert calls_in_row(trace, 6) == ["add → AutogradCUDA → CUDA"]
    assert calls_in_row(trace, 7) == ["sum → AutogradCUDA → CUDA", "ones_like → CUDA"]


CALLS = {
    "a.reshape(3, 2)": ["reshape → AutogradCPU (composite: view)"],
    "a.view(3, 2)": ["view → AutogradCPU → ADInplaceOrView → CPU"],
    "a.view(3, 2).sum()": ["view → AutogradCPU → …", "sum → AutogradCPU → CPU"],
    "a.to(torch.float32)": ["to → AutogradCPU (composite)"],
    "torch.nn.functional.linear(a, a)": ["linear → AutogradCPU (composite: t, matmul)"],
    "torch.einsum('ij,kj', a, a)": ["einsum → AutogradCPU (composite: unsqueeze, permute, reshape, …)"],
    "torch.vmap(torch.sin)(a)": [
        "sin → FuncTorchDynamicLayerFrontMode → FuncTorchBatched → FuncTorchDynamicLayerBackMode → AutogradCPU → CPU"
    ],
    "torch.vmap(lambda v: v.reshape(-1))(a)": [
        "reshape → FuncTorchDynamicLayerFrontMode → FuncTorchBatched (composite: view)"
    ],
    "torch.vmap(torch.sum)(a)": ["sum → FuncTorchDynamicLayerFrontMode → FuncTorchBatched (calls sum)"],
    "a.sin().cos().tan().exp()": ["4 operator calls"],
}


@pytest.mark.parametrize("call", CALLS)
def test_row_names_the_keys_of_a_call(call: str) -> None:
    trace = traced(f"import torch\na = torch.ones(2, 3, requires_grad=True)\nb = {call}\n")
    assert calls_in_row(trace, 3) == CALLS[call]


WITHIN = {
    "torch.no_grad()": "matmul → AutogradCPU (composite: mm)",
    "torch.inference_mode()": "matmul → CPU (composite: mm)",
    "torch.autocast('cpu')": "matmul → AutocastCPU → AutogradCPU (composite: mm)",
}


@pytest.mark.parametrize("mode", WITHIN)
def test_row_names_the_keys_of_a_call_within_a_mode(mode: str) -> None:
    trace = traced(f"import torch\na = torch.ones(2, 2)\nwith {mode}:\n    b = a @ a\nprint()\n")
    assert calls_in_row(trace, 4) == [WITHIN[mode]]


def test_call_with_an_inference_tensor_has_no_autograd_key() -> None:
    trace = traced("import torch\nwith torch.inference_mode():\n    a = torch.ones(2)\n    b = a.reshape(2, 1)\n")
    assert calls_in_row(trace, 4) == ["reshape → CPU (composite: view)"]


# -- PyTorch's log -----------------------------------------------------------------------------------------------------


@dataclass
class Logged:
    """A call in PyTorch's log, with its nested calls."""

    operator: str
    key: str
    how: str
    inner: list[Logged] = field(default_factory=list)

    def again(self) -> Logged | None:
        """Return the call of the same operator that this one makes, unless it belongs to the work of a backend's
        kernel.
        """
        found = (each for each in self.inner if each.operator == self.operator)
        return next((each for each in found if each.how == "redispatch" or not is_backend(self.key)), None)


def logged(log: list[list[Any]]) -> list[Logged]:
    """Return the calls that a program itself made, from its recorded log."""
    around: list[tuple[int, list[Logged]]] = [(-1, [])]
    outer = around[0][1]
    for depth, _, operator, key, _, _, _, how, node in log:
        while around[-1][0] >= depth:
            around.pop()
        call = Logged(operator, key, how)
        if depth or node is None:
            around[-1][1].append(call)
        around.append((depth, call.inner))
    return outer


def chain_of(call: Logged, composite_at: int | None) -> tuple[tuple[str, ...], Logged]:
    """Return the keys of a logged call up to the composite kernel, and the last call of the same operator."""
    keys, again = [call.key], call.again()
    while again is not None and len(keys) != composite_at:
        call, again = again, again.again()
        keys.append(call.key)
    return tuple(keys), call


def difference(found: Chain, pytorch: Logged) -> str:
    """Return the difference between a chain and PyTorch's; empty if there is none."""
    keys, last = chain_of(pytorch, len(found.keys) if found.composite else None)
    inner = tuple(dict.fromkeys(each.operator for each in last.inner))
    parts = inner if found.composite or not is_backend(keys[-1]) else ()
    same = (found.operator, found.keys, found.parts) == (pytorch.operator, keys, parts)
    return "" if same else f"{found} is {pytorch} in PyTorch"


PROGRAMS = records.programs()
LOGGED = [name for name, text in PROGRAMS.subjects.items() if text not in ("modes", "printing")]


def comparable(name: str) -> Iterator[Trace]:
    """Yield the trace of a program whose calls are logged in a fixed order: none of several threads, none of
    printing.
    """
    source = PROGRAMS[name]["source"]
    if PROGRAMS[name]["log"] is not None and "threading" not in source and "print" not in source:
        yield traced(source)


@pytest.mark.filterwarnings("ignore")  # a warning raised as an error would end the program
@pytest.mark.parametrize("name", some(LOGGED, max(len(LOGGED) // amount(6, 400), 1)))
def test_rows_have_the_calls_of_the_recorded_log(name: str) -> None:
    for trace in comparable(name):
        told = [chain for step in outermost_calls(trace) if (chain := call_chain(trace, step)) is not None]
        pytorch = logged(PROGRAMS[name]["log"])
        assert [each.operator for each in told if not each.operator.startswith("profiler::")] == [
            each.operator for each in pytorch
        ]
        assert not list(filter(None, map(difference, told, pytorch)))


# -- beside the row ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["forum", "autocast", "vmap", "custom_operator", "wrapper_subclass"])
def test_a_row_begins_with_the_key_of_the_key_set_pane_and_of_the_row_beneath(name: str) -> None:
    trace = traced((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))
    steps = outermost_calls(trace)
    assert steps
    for step in steps:
        chain, card = call_chain(trace, step), key_set_card(trace, step)
        assert chain is not None
        assert card is not None
        assert chain.keys[0] == card.winner
        (beneath, _), _ = event_texts(trace, step)
        operator, _, key = beneath.partition(" → ")
        for alone in (True, False):
            text = call_text(chain, alone)
            assert text.startswith(f"{plain_operator(operator)} → {key}")
