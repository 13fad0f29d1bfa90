"""The log by level, line and operator, and without backward: its rows, and refused filters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dispatchviz.cli.options import LEVELS as NAMES
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.outline.levels import LEVELS
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.outputs.log.log_filter import LogFilter, chosen_steps
from dispatchviz.outputs.log.text_log import text_log
from dispatchviz.running.program import run
from tests.tui.programs import example

from .command import dispatchviz, script

PROGRAM = """\
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        y = x * x
        return y + 1

net = Net()
x = torch.ones(2, requires_grad=True)
for iteration in range(2):
    loss = net(x).sum()
    print(loss)
    loss.backward()
"""


@pytest.fixture(scope="module")
def trace() -> Trace:
    """The trace of the founding program."""
    return example("forum.py")


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """The trace of a program with a function, a loop and a printed tensor."""
    folder = tmp_path_factory.mktemp("net")
    return run(str(folder / script(folder, PROGRAM, "net.py"))).trace


def kinds(trace: Trace, **wanted: object) -> list[str]:
    return [type(trace[step]).__name__ for step in chosen_steps(trace, LogFilter(**wanted))]  # type: ignore[arg-type]


def lines(trace: Trace, **wanted: object) -> list[int]:
    """Return the lines of the program that a log has."""
    events = (trace[step] for step in chosen_steps(trace, LogFilter(**wanted)))  # type: ignore[arg-type]
    return [event.line for event in events if isinstance(event, ev.SourceLine)]


def test_level_names_match_the_options() -> None:
    assert tuple(level.name for level in LEVELS) == NAMES
    assert LEVELS[-1].kinds is None


def test_a_level_has_its_kinds(trace: Trace) -> None:
    for level in LEVELS:
        expected = [type(event) for event in trace if level.kinds is None or type(event) in level.kinds]
        assert kinds(trace, level=level.name) == [kind.__name__ for kind in expected]


def test_calls_are_few_rows_without_reasons(trace: Trace) -> None:
    text = list(text_log(trace, 0, LogFilter(level="calls")))
    rows = [line for line in text if re.match(r" *\d+ ", line)]
    assert len(rows) < len(trace) / 4
    assert not any("|" in line for line in text)
    assert "147 →   call aten::add.Tensor → AutogradCUDA" in rows
    assert "158 →     redispatch aten::add.Tensor → CUDA" in rows


def test_an_error_gives_its_reason_at_every_level(tmp_path: Path) -> None:
    name = script(tmp_path, "import torch\ntorch.ones(2, requires_grad=True).add_(1)\n")
    failed = run(str(tmp_path / name)).trace
    for level in LEVELS:
        assert any("|" in line for line in text_log(failed, 0, LogFilter(level=level.name)))


def test_calls_of_printing_are_folded(net: Trace) -> None:
    inside = {step for at in net.steps_of(ev.TensorFormatted) for step in range(at + 1, net.ends[at] + 1)}
    assert inside
    for level in LEVELS:
        assert not inside.intersection(chosen_steps(net, LogFilter(level=level.name)))


def test_line_filter_shows_the_steps_of_the_line(trace: Trace) -> None:
    steps = chosen_steps(trace, LogFilter(line="6"))
    (begin,) = [step for step in steps if isinstance(trace[step], ev.SourceLine)]
    assert list(steps) == list(range(begin, trace.ends[begin] + 1))
    assert steps == chosen_steps(trace, LogFilter(line=f"{trace.header.program.rpartition('/')[2]}:6"))
    assert lines(trace, line="3-5") == [3, 4, 5]


def test_line_filter_includes_called_functions(net: Trace) -> None:
    assert set(lines(net, line="11")) == {11, 5, 6}
    assert "MulBackward0" in "\n".join(text_log(net, 0, LogFilter(line="11")))


def test_line_filter_includes_calling_lines(net: Trace) -> None:
    assert lines(net, line="net.py:5") == [11, 5] * 2
    calls = [net[step] for step in chosen_steps(net, LogFilter(line="5")) if isinstance(net[step], ev.Dispatched)]
    assert {call.operator for call in calls if isinstance(call, ev.Dispatched)} == {"aten::mul.Tensor"}


def test_operator_filter_includes_inner_and_outer_steps(trace: Trace) -> None:
    for name in ("add", "torch.add", "aten::add", "aten.add.Tensor", "aten::add.Tensor", "torch.ops.aten.add"):
        steps = chosen_steps(trace, LogFilter(operator=name))
        calls = [step for step in trace.steps_of(ev.Dispatched) if trace[step].operator == "aten::add.Tensor"]  # type: ignore[union-attr]
        inside = set(range(calls[0], trace.ends[calls[0]] + 1))
        assert set(steps) - inside == set(trace.columns.ancestors(calls[0]))
        assert inside <= set(steps)


def test_operator_without_overload_matches_all_overloads(net: Trace) -> None:
    every = [event.operator for event in net if isinstance(event, ev.Dispatched) and event.operator[:9] == "aten::sum"]
    assert set(every) == {"aten::sum", "aten::sum.dim_IntList"}
    assert kinds(net, operator="sum", level="calls").count("Dispatched") >= len(every)


def test_backward_is_left_out(trace: Trace) -> None:
    (begin,) = trace.steps_of(ev.BackwardStarted)
    left = set(range(len(trace))) - set(chosen_steps(trace, LogFilter(backward=False)))
    assert left == set(range(begin + 1, trace.ends[begin] + 1))


def test_filters_combine(net: Trace) -> None:
    wanted = LogFilter(level="calls", line="11", operator="mul", backward=False)
    assert [line.split(maxsplit=1)[1] for line in list(text_log(net, 0, wanted))[1:] if line] == [
        "> line 11  loss = net(x).sum()",
        ">   net  Net  (2 operator calls, 3 Nodes)",
        ">     line 5 in Net.forward  y = x * x",
        "→       call aten::mul.Tensor → AutogradCPU",
        "○         Node MulBackward0, seq 0",
        "○         Node AccumulateGrad (x)",
        "→         redispatch aten::mul.Tensor → CPU",
        "> line 11  loss = net(x).sum()",
        ">   net  Net  (2 operator calls, 2 Nodes)",
        ">     line 5 in Net.forward  y = x * x",
        "→       call aten::mul.Tensor → AutogradCPU",
        "○         Node MulBackward0, seq 3",
        "→         redispatch aten::mul.Tensor → CPU",
    ]


def test_filtered_rows_equal_rows_of_the_whole_log(net: Trace) -> None:
    """Rows at the level of all steps are the same, and have at most the same reasons."""
    whole = list(text_log(net))
    for wanted in (LogFilter(line="11"), LogFilter(operator="mul"), LogFilter(backward=False)):
        rows = [line for line in text_log(net, 0, wanted) if re.match(r" *\d+ ", line)]
        assert rows == [line for line in whole if line in set(rows)]


def test_a_stored_trace_decodes_no_more_than_it_shows(net: Trace, tmp_path: Path) -> None:
    net.save(tmp_path / "net.dvtrace")
    stored = Trace.load(tmp_path / "net.dvtrace")
    for wanted in (LogFilter(level="calls"), LogFilter(operator="mul", backward=False)):
        assert chosen_steps(stored, wanted) == chosen_steps(net, wanted)


@pytest.mark.parametrize(("wanted", "says"), [
    ({"line": "99"}, "--line 99: NAME has 13 lines; there are steps on lines 1, 3-6, 8-13"),
    ({"line": "0"}, "--line 0: NAME has 13 lines; "),
    ({"line": "2"}, "--line 2: nothing happens there in NAME; there are steps on lines "),
    ({"line": "other.py:2"}, "--line other.py:2: no step is in a file with that name; there are steps in NAME"),
    ({"line": "x"}, "--line x: write a line such as 6, 6-9 or forum.py:6"),
    ({"operator": "mull"}, "there is no call of an operator 'mull'; did you mean aten::mul?"),
    ({"operator": "conv2d"}, "there is no call of an operator 'conv2d'; there are calls of ones, "),
    ({"operator": "add.Scalar"}, "there is no call of aten::add.Scalar, only of Tensor"),
    ({"operator": "mul", "line": "13", "backward": False}, "no step of NAME matches all of these: --line 13, --op mul"),
])  # fmt: skip
def test_filter_without_a_match_is_refused(wanted: dict[str, object], says: str, net: Trace) -> None:
    with pytest.raises(DispatchvizError) as error:
        text_log(net, 0, LogFilter(**wanted))  # type: ignore[arg-type]
    assert str(error.value).replace(net.header.program, "NAME").startswith(says)


# -- commands ---------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_commands_print_the_same_filtered_log(tmp_path: Path) -> None:
    script(tmp_path, PROGRAM, "net.py")
    wanted = ["--level", "calls", "--line", "11", "--op", "torch.mul", "--no-backward"]
    traced = dispatchviz("trace", "--save", "t.dvtrace", *wanted, "net.py", cwd=tmp_path)
    assert traced.status == 0
    assert traced.out.count("MulBackward0") == 2
    for command in (["open", *wanted, "t.dvtrace"], ["run", *wanted, "t.dvtrace"], ["trace", *wanted, "t.dvtrace"]):
        assert dispatchviz(*command, cwd=tmp_path) == (0, traced.out, "")
    assert dispatchviz("run", *wanted, "net.py", cwd=tmp_path) == traced
    assert dispatchviz("trace", "-o", "net.log", *wanted, "net.py", cwd=tmp_path).status == 0
    assert (tmp_path / "net.log").read_text() == traced.out


@pytest.mark.long
def test_mistakes_are_one_line_and_keep_the_trace(tmp_path: Path) -> None:
    script(tmp_path, "import torch\n\ntorch.ones(2)\n", "ones.py")
    for command, wanted in (("run", ["--line", "2"]), ("trace", ["--op", "add"]), ("run", ["--level", "some"])):
        ended = dispatchviz(command, *wanted, "ones.py", cwd=tmp_path)
        assert (ended.status, ended.out) == (2, "")
        assert ended.err.count("\n") == 1
        assert ("the trace is kept" in ended.err) == ("some" not in wanted)
