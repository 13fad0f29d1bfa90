"""Pictures of calls, decisions, tables and structured kernels."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.calls.call_graph import Call, call_graph
from dispatchviz.explain.calls.cell_card import cell_card
from dispatchviz.explain.calls.key_set_card import key_set_card
from dispatchviz.explain.codegen.structured_classes import Family, family_of
from dispatchviz.explain.trace_index.folded_steps import PROFILER
from dispatchviz.outputs.picture.call_picture import call_picture
from dispatchviz.outputs.picture.chosen_picture import KINDS, Chosen, chosen_picture, drawn_picture
from dispatchviz.outputs.picture.picture_options import THEMES, Options
from dispatchviz.outputs.picture.structured_picture import class_drawing, render
from dispatchviz.outputs.picture.svg import RenderError, plain, svg, texts
from dispatchviz.trace import Trace
from tests.explain.programs import traced
from tests.transformer import LAYERS, transformer


@functools.cache
def loop() -> Trace:
    trace = traced(
        """
        import torch
        x = torch.randn(2, 2, device="cuda", requires_grad=True)
        for _ in range(3):
            y = torch.add(x, x)
        z = torch.nn.functional.linear(y, x)
        z.sum().backward()
        """
    )
    assert isinstance(trace, Trace)
    return trace


def call_of(operator: str) -> int:
    return next(e.seq for e in loop() if isinstance(e, ev.Dispatched) and e.operator == operator)


def test_calls_of_a_line_that_are_alike_are_one() -> None:
    lines = {line.text: line.calls for line in call_graph(loop()).lines}
    (added,) = lines["y = torch.add(x, x)"]
    assert (added.times, added.call.operator, added.step) == (3, "aten::add.Tensor", call_of("aten::add.Tensor"))
    assert [(hop.how, hop.key, hop.kernel) for hop in added.call.hops] == [
        ("call", "AutogradCUDA", "VariableType::add_Tensor"),
        ("redispatch", "CUDA", "wrapper_CUDA_add_Tensor"),
    ]


def test_a_composite_kernel_calls_others() -> None:
    lines = {line.text: line.calls for line in call_graph(loop()).lines}
    (linear,) = lines["z = torch.nn.functional.linear(y, x)"]
    (hop,) = linear.call.hops
    assert hop.kernel == "wrapper_CompositeImplicitAutograd__linear"
    assert [counted.call.operator for counted in hop.calls] == ["aten::t", "aten::matmul"]


def test_calls_in_backward_are_not_forward_calls() -> None:
    backward = next(event for event in loop() if isinstance(event, ev.BackwardStarted))
    inside = {e.operator for e in loop()[backward.seq : loop().ends[backward.seq]] if isinstance(e, ev.Dispatched)}
    assert inside
    steps = {counted.step for line in call_graph(loop()).lines for counted in line.calls}
    assert not any(backward.seq <= step <= loop().ends[backward.seq] for step in steps)


def operators(call: Call) -> list[str]:
    """Return a call's operator once for each dispatch in it, and those of the calls within."""
    inner = [name for hop in call.hops for each in hop.calls for name in operators(each.call) * each.times]
    return [call.operator] * len(call.hops) + inner


def test_no_call_is_lost_but_those_of_the_profiler() -> None:
    trace = transformer()
    backward = next(event for event in trace if isinstance(event, ev.BackwardStarted))
    within = range(backward.seq, trace.ends[backward.seq] + 1)
    graph = call_graph(trace)
    assert not graph.left_out
    drawn = [name for line in graph.lines for each in line.calls for name in operators(each.call) * each.times]
    there = [event.operator for event in trace if isinstance(event, ev.Dispatched) and event.seq not in within]
    assert sorted(drawn) == sorted(name for name in there if not name.startswith(PROFILER))
    assert len(drawn) < len(there)


def test_layers_are_folded() -> None:
    trace = transformer()
    forward = next(e.seq for e in trace if isinstance(e, ev.NodeCreated))
    shown = set(texts(call_picture(trace, forward - 100).svg()))
    assert {f"aten::{name} × {LAYERS}" for name in ("layer_norm", "unbind.int", "softmax.int", "gelu")} <= shown
    assert f"aten::linear × {2 * LAYERS}" in shown  # up and down, on one line


def test_the_decision_is_that_of_the_cards() -> None:
    step = call_of("aten::add.Tensor")
    shown = list(loop().decision(step).drawing.texts)
    card, cell = key_set_card(loop(), step), cell_card(loop(), step)
    assert card
    assert cell
    assert f"{card.winner} ← wins" in shown
    assert f"cell {cell.index} of aten::add.Tensor: {cell.key}" in shown
    assert f"→ {cell.source}: {cell.kernel}" in shown
    assert cell.kernel in shown
    assert [text for text in shown if text[:1] in "+−="] == [
        "+ thread-local include set",
        "− thread-local exclude set",
        "− the operator's mask: keys whose kernel falls through",
        "= remaining key set, the highest key first",
    ]


def test_redispatch_has_a_decision_too() -> None:
    step = next(
        e.seq
        for e in loop()
        if isinstance(e, ev.Dispatched) and (e.how, e.operator) == ("redispatch", "aten::add.Tensor")
    )
    shown = loop().decision(step).drawing.texts
    assert any(text.startswith("received") for text in shown)
    assert any(text.startswith("− ") for text in shown)


def test_the_table_marks_the_cell_of_the_call() -> None:
    shown = loop().operator_table(call_of("aten::add.Tensor")).drawing
    cells = [text for text in shown.texts if re.match(r"cells? \d", text)]
    assert cells
    assert "cells 96-111: the 16 Autograd keys ← the call" in cells
    assert sum("← the call" in text for text in cells) == 1
    assert any(text.endswith(" Autograd") and text[0].isdigit() for text in shown.texts)
    assert "registered at torch/csrc/autograd/generated/VariableType_2.cpp:10917" in shown.texts


def test_the_table_says_what_the_program_registered() -> None:
    trace = traced(
        """
        import torch
        lib = torch.library.Library("aten", "IMPL")
        lib.impl("mul.Tensor", lambda x, y: x, "AutogradCPU")
        torch.ones(2) * torch.ones(2)
        """
    )
    step = next(e.seq for e in trace if isinstance(e, ev.Dispatched) and e.operator == "aten::mul.Tensor")
    shown = drawn_picture(trace, "table", (step, step)).drawing.texts
    assert any(text.startswith("AutogradCPU: ") and "(step " in text for text in shown)
    assert not any("← the call" in text for text in shown)


def test_classes_of_a_structured_kernel_are_drawn() -> None:
    shown = loop().structured_classes(call_of("aten::add.Tensor")).drawing.texts
    assert any("structured_ufunc_add_CUDA" in text for text in shown)


OF_A_CALL = [kind for kind in KINDS if kind != "memory"]


@pytest.mark.parametrize("kind", OF_A_CALL)
def test_every_text_is_in_the_picture(kind: str) -> None:
    step = call_of("aten::add.Tensor")
    if kind == "backward":
        assert "AddBackward0" in set(texts(loop().backward_graph().svg()))
        return
    drawn = drawn_picture(loop(), kind, (step, step))  # type: ignore[arg-type]
    assert set(drawn.drawing.texts) <= {" ".join(text.split()) for text in texts(svg(drawn.drawing))}
    assert drawn.svg(theme="auto") == drawn_picture(loop(), kind, (step, step)).svg(theme="auto")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", OF_A_CALL)
@pytest.mark.parametrize("theme", THEMES)
def test_every_picture_can_be_written_to_a_file(kind: str, theme: str) -> None:
    step = len(loop()) - 1 if kind == "backward" else call_of("aten::add.Tensor")
    chosen = Chosen(kind, (step, step), options=Options(theme=theme))  # type: ignore[arg-type]
    assert chosen_picture(loop(), ".svg", chosen).data.startswith(b"<?xml")
    if theme != "auto":
        assert chosen_picture(loop(), ".png", chosen).data.startswith(b"\x89PNG")


@pytest.mark.parametrize(("kind", "message"), [
    ("calls", "no operator is called at these steps"),
    ("decision", "step 0 is in no call of an operator"),
    ("table", "step 0 is in no call of an operator"),
    ("classes", "step 0 is about no operator"),
])  # fmt: skip
def test_step_without_a_call_is_refused(kind: str, message: str) -> None:
    with pytest.raises(RenderError, match=message):
        drawn_picture(loop(), kind, (0, 0))  # type: ignore[arg-type]


def test_unknown_step_is_refused() -> None:
    with pytest.raises(RenderError, match="there is no step 9999999: the trace has the steps 0 to"):
        chosen_picture(loop(), ".svg", Chosen("decision", (9999999, 9999999)))


def test_many_calls_are_cut_with_a_note() -> None:
    trace = traced("import torch\nx = torch.ones(2)\n" + "x = x + 1\n" * 150)
    drawn = drawn_picture(trace, "calls", None)
    assert re.fullmatch(r"\d+ more calls are not drawn: --steps A-B or --step N selects others", drawn.note)
    assert sum(text.startswith("aten::add.Tensor") for text in drawn.drawing.texts) <= 120


HOSTILE = ('{"a|b<c>&amp;": 1}', "'<script>alert(1)</script>'", "'שלום 🔥'", "r'\\\\N \\\\G {x|y}'")


@pytest.mark.parametrize("text", HOSTILE)
def test_a_line_of_the_program_is_itself(text: str) -> None:
    line = f"y = torch.add(x, 1), {text}"
    trace = traced(f"import torch\nx = torch.ones(2, requires_grad=True)\n{line}\ny[0].sum().backward()\n")
    assert isinstance(trace, Trace)
    calls, frames = trace.call_graph().svg(), trace.backward_graph().svg(cluster="line")
    assert line in {" ".join(found.split()) for found in texts(calls)}
    assert f"line 3: {line}" in {" ".join(found.split()) for found in texts(frames)}
    assert "<script" not in calls + frames


def family(name: str) -> Family:
    found = family_of(name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["add.Tensor", "mm", "max.dim"])
def test_each_class_has_a_box_and_an_arrow_to_its_base(name: str) -> None:
    drawn = class_drawing(family(name))
    classes = family(name).classes
    assert drawn.boxes == len(classes)
    assert drawn.edges == sum(bool(each.base) for each in classes) == len(classes) - 1
    shown = [plain(text) for text in texts(svg(drawn))]
    assert all(shown.count(each.name) == sum(other.name == each.name for other in classes) for each in classes)


def test_the_boxes_say_what_is_overridden_and_for_which_operator_an_object_is_made() -> None:
    shown = [plain(text) for text in texts(svg(class_drawing(family("add.Tensor"))))]
    assert "for aten::add_.Tensor at CPU" in shown
    assert "● set_output_strided: check_inplace(outputs_[i]," in shown
    assert "proxy_outputs_: std::array<std::optional<Tensor>, 1>" in shown


def test_arrows_lead_to_the_class_that_is_inherited_from() -> None:
    """Two keys share ``structured_max_out``, and classes of the same names."""
    source = class_drawing(family("max.dim")).source
    shared = next(n for n, each in enumerate(family("max.dim").classes) if each.name.endswith("::structured_max_out"))
    assert source.count(f"  c{shared} -> ") == 4


@pytest.mark.parametrize(("name", "begins"), [
    ("a.svg", b"<?xml"), ("a.dot", b"digraph classes"), ("a.png", b"\x89PNG"),
])  # fmt: skip
def test_the_suffix_says_what_is_written(tmp_path: Path, name: str, begins: bytes) -> None:
    render(family("mm"), str(tmp_path / name))
    assert (tmp_path / name).read_bytes().startswith(begins)
