"""Compiled regions, in a stored recording of PyTorch 2.13: graphs, the line that runs, sentences, the pane."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import msgspec

import dispatchviz
from dispatchviz import Trace
from dispatchviz.core.record import events as ev
from dispatchviz.core.record import trace_file as core
from dispatchviz.explain.graph.compiled.compiled_names import break_reason, function_title, graph_title
from dispatchviz.explain.graph.compiled.graphs import calls_of, graph_of, nodes_of
from dispatchviz.explain.graph.compiled.running_graph import shown_graph
from dispatchviz.explain.kinds.all_kinds import label, why_here
from dispatchviz.outputs.without_folders import without_folders
from dispatchviz.views.layout.pane_layout import COMPILER
from dispatchviz.views.panes import compiler_pane
from dispatchviz.views.panes.empty_titles import nothing
from tests.explain.programs import traced
from tests.live.compiled_program import RECORDING

SIGHTS = (
    ev.CompileStarted, ev.GuardFailed, ev.GraphBroken, ev.GraphCaptured, ev.CompileFinished, ev.RegionCalled,
    ev.RegionNodeMade, ev.BackwardCompiled, ev.NodeCaptured,
)  # fmt: skip


@cache
def recording() -> Trace:
    return dispatchviz.load(RECORDING)


def of(kind: type[ev.Event], place: int = 0) -> int:
    return recording().steps_of(kind)[place]


def graph(stage: ev.GraphStage, region: int) -> ev.GraphCaptured:
    found = graph_of(recording(), len(recording()) - 1, region, stage)
    assert found is not None
    return found


def labels(begin: int, end: int) -> Iterator[str]:
    trace = recording()
    return (label(trace, event.seq) for event in trace[begin : end + 1] if isinstance(event, SIGHTS))


def test_first_call_shows_each_part_of_the_compiler() -> None:
    begin = of(ev.CompileStarted)
    assert list(labels(begin, recording().ends[begin])) == [
        "compile f  (0/0)",
        "graph break: Failed to trace builtin operator. Dynamo does…",
        "Dynamo's graph of region 0  (1 line)",
        "joint graph of region 0  (6 lines)",
        "forward graph of region 0  (2 lines)",
        "backward graph of region 0  (4 lines)",
        "compile ends: compiled",
    ]


def test_rest_of_a_function_is_compiled_after_the_break() -> None:
    trace = recording()
    rest = trace[of(ev.CompileStarted, 1)]
    assert isinstance(rest, ev.CompileStarted)
    assert label(trace, rest.seq) == "compile the rest of f from line 6  (1/0)"
    assert why_here(trace, rest.seq) == (
        "There is no compiled code of the rest of f from line 6 yet, so torch.compile traces it."
    )


def test_break_gives_the_line_and_the_reason_of_pytorch() -> None:
    text = why_here(recording(), of(ev.GraphBroken))
    assert text.startswith(
        "Dynamo cannot trace line 6, so the graph ends before it. PyTorch's reason: Failed to trace builtin operator. "
    )
    assert text.endswith("operator `print` with argument types ['str'] (has_kwargs False).")


def test_second_compilation_gives_the_guard_that_failed() -> None:
    trace = recording()
    assert "so torch.compile traces it again." in why_here(trace, trace[of(ev.GuardFailed)].parent or 0)
    assert why_here(trace, of(ev.GuardFailed)) == (
        "PyTorch reports the guard that failed: 0/0: tensor 'x' size mismatch at index 0. expected 2, actual 5."
    )


def test_backward_lines_have_the_nodes_that_they_replace() -> None:
    assert nodes_of(graph("backward", 0)) == ("MmBackward0", "TBackward0")
    assert [(line.name, line.node) for line in calls_of(graph("backward", 0))] == [
        ("t_1", "MmBackward0"), ("mm_1", "MmBackward0"), ("t_2", "MmBackward0"), ("t_3", "TBackward0"),
    ]  # fmt: skip
    assert why_here(recording(), of(ev.RegionNodeMade)).endswith("It takes the place of MmBackward0 and TBackward0.")


def test_saved_values_are_named() -> None:
    assert graph("forward", 0).saved == ("primals_1",)
    assert why_here(recording(), graph("forward", 0).seq) == (
        "The forward graph of region 0 has 2 lines. It saves primals_1 for the backward graph."
    )


def test_in_place_call_is_functionalized() -> None:
    assert [line.code for line in calls_of(graph("Dynamo", 1))] == ["l_h_.add_(1)", "l_h_.relu()", "relu.sum()"]
    assert not [line for line in graph("joint", 1).lines if line.operator.startswith("aten::add_")]


def test_lines_run_in_their_order() -> None:
    trace, begin = recording(), of(ev.RegionCalled)
    shown = [shown_graph(trace, at) for at in range(begin, trace.ends[begin])]
    lines = [each.line for each in shown if each is not None and each.line]
    assert list(dict.fromkeys(lines)) == ["t", "mm"]
    assert {graph_title(each.graph) for each in shown if each} >= {"forward graph of region 0"}


def test_node_of_a_region_runs_its_backward_graph() -> None:
    trace = recording()
    first = trace[of(ev.NodeStarted)]
    assert "It runs the backward graph of region 1." in why_here(trace, first.seq)
    shown = [shown_graph(trace, at) for at in range(first.seq, trace.ends[first.seq])]
    assert [each.line for each in shown if each and each.line][-1] == "add_1"


def test_node_of_a_region_is_not_made_by_a_call_within_it() -> None:
    trace = recording()
    made = [e for e in trace if isinstance(e, ev.NodeCreated) and e.name == "CompiledFunctionBackward"]
    assert made
    for event in made:
        assert why_here(trace, event.seq).startswith("The call of region ")


def test_function_without_compiled_code_says_why() -> None:
    finished = [e for e in recording() if isinstance(e, ev.CompileFinished) and e.outcome != "compiled"]
    assert [why_here(recording(), event.seq) for event in finished] == [
        "Dynamo has found nothing to compile in nothing, so Python runs it as it is.",
        "The compilation of f has ended with an exception. Unsupported: Failed to trace builtin operator.",
    ]


def test_compiled_autograd_collects_all_state_before_a_node_runs() -> None:
    captured = [(e.function, e.name, e.content) for e in recording() if isinstance(e, ev.NodeCaptured)]
    names = ["GraphRoot", "SumBackward0", "SinBackward0", "MulBackward0", "AccumulateGrad"]
    assert [name for function, name, _ in captured if function == "compiled_args"] == names
    assert [name for function, name, _ in captured if function == "apply_with_saved"] == names
    assert [function for function, _, _ in captured] == ["compiled_args"] * 5 + ["apply_with_saved"] * 5
    assert ("compiled_args", "SinBackward0", ("inputs[1]",)) in captured
    assert ("apply_with_saved", "SinBackward0", ("sin_backward0", "validate_outputs_2")) in captured


def test_pane_shows_lines_below_the_line_of_the_program() -> None:
    rows = [row.plain for row in compiler_pane.rows(recording(), graph("Dynamo", 0).seq, 80)]
    assert rows == [
        "Dynamo's graph of region 0  captured",
        "line 5  h = torch.nn.functional.linear(x, w)",
        "  h = torch._C._nn.linear(l_x_, l_w_)  [2, 4] float32",
        "      keys  PythonTLSSnapshot, AutogradCPU → CompositeImplicitAutograd",
    ]


def test_pane_shows_lines_below_nodes() -> None:
    rows = [row.plain for row in compiler_pane.rows(recording(), of(ev.RegionNodeMade), 80) if "keys" not in row.plain]
    assert rows == [
        "backward graph of region 0  captured",
        "MmBackward0 of line 5  h = torch.nn.functional.linear(x, w)",
        "  t_1 = aten.t.default(tangents_1)  [4, 2] float32",
        "  mm_1 = aten.mm.default(t_1, primals_1)  [4, 3] float32",
        "  t_2 = aten.t.default(mm_1)  [3, 4] float32",
        "TBackward0 of line 5  h = torch.nn.functional.linear(x, w)",
        "  t_3 = aten.t.default(t_2)  [4, 3] float32",
    ]


def test_pane_marks_the_line_that_runs() -> None:
    trace, begin = recording(), of(ev.RegionCalled)
    call = next(e.seq for e in trace[begin:] if isinstance(e, ev.Dispatched) and e.operator == "aten::mm")
    here = [row.plain for row in compiler_pane.rows(trace, call, 80) if row.here]
    assert here == ["▶ mm = aten.mm.default(primals_1, t)  [2, 4] float32  MmBackward0"]


def test_pane_is_empty_outside_of_compiled_code() -> None:
    said = nothing(COMPILER, recording(), 0)
    assert said is not None
    assert said.plain == f"no compiled code here, next at step {of(ev.GraphCaptured)}"
    assert nothing(COMPILER, recording(), of(ev.RegionCalled)) is None
    said = nothing(COMPILER, traced("import torch"), 0)
    assert said is not None
    assert said.plain == "no compiled code here, none later"


def test_shared_trace_names_no_folder() -> None:
    trace = recording()
    path = "/home/someone/compiled.py"
    lines = tuple([line._replace(file=path) for line in graph("Dynamo", 0).lines])
    event = msgspec.structs.replace(graph("Dynamo", 0), seq=0, parent=None, lines=lines)
    header = msgspec.structs.replace(trace.header, program=path, sources={path: "import torch"})
    (shown,) = without_folders(core.Trace(header, [event]))
    assert isinstance(shown, ev.GraphCaptured)
    assert {line.file for line in shown.lines} == {"compiled.py"}


def test_names_of_functions() -> None:
    assert function_title("torch_dynamo_resume_in_f_at_5") == "the rest of f from line 5"
    assert function_title("Net.forward") == "Net.forward"
    assert break_reason("short") == "short"
    assert break_reason("Title\n  Explanation: It\n    is so.\n  Hint: Do it.") == "Title. It is so."
