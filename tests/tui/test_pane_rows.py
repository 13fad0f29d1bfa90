"""Tests of the rows of panes. No text of a program can break a pane, at any size."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.whole_stack import whole_stack
from dispatchviz.explain.graph.engine_state import engine_state
from dispatchviz.testing import event
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.layout.pane_layout import (
    CALLS,
    ENGINE,
    MEMORY,
    OUTPUT,
    PANES,
    SOURCE,
    STEPS,
    STRUCTURED,
    TABLE,
    TENSORS,
    THREAD,
)
from dispatchviz.views.panes import engine_pane
from dispatchviz.views.panes.calls_pane import whole_rows
from dispatchviz.views.panes.chosen_rows import ChosenRows
from dispatchviz.views.panes.pane_list import PANES as TITLED
from dispatchviz.views.panes.pane_list import rows_of
from dispatchviz.views.screen_bars import header_rows
from dispatchviz.views.text.line_fitting import from_cell, wrap
from dispatchviz.views.text.styled_line import line
from tests.explain.programs import traced
from tests.steps import last_step, step
from tests.steps import line as line_of
from tests.tui.programs import example

from .screens import stepper
from .synthetic import awkward, forum

BESIDE = [pane for pane in PANES if pane != STEPS]
HOSTILE = ["[/]", "[a]", "f[N]", "[2, 3]", "\x1b]0;x\x07", "a\nb"]


def shown(pane: int, trace: Trace, at: int, width: int = 74) -> list[str]:
    rows = rows_of(TITLED[pane][1])(trace, at, width)
    return [part.plain.rstrip() for row in rows for part in wrap(row, width)]


def text(pane: int, trace: Trace, at: int, width: int = 74) -> str:
    return "\n".join(shown(pane, trace, at, width))


def below(trace: Trace) -> int:
    """The step at which the CUDA kernel of the forum program's add runs."""
    return step(trace, event(ev.KernelEntered, kernel="wrapper_CUDA_add_Tensor"))


def test_thread_pane_in_the_cuda_kernel_shows_guards_and_sets() -> None:
    trace = example("forum.py")
    assert shown(THREAD, trace, below(trace)) == [
        "grad mode  on  Nodes are recorded",
        "guards     1 open, innermost first",
        "  AutoDispatchBelowADInplaceOrView  excludes the autograd keys and",
        "    ADInplaceOrView",
        "included   {ADInplaceOrView, BackendSelect}",
        "excluded   the autograd keys, the autocast keys and ADInplaceOrView",
    ]
    assert header_rows(Cursor(trace, below(trace)), 200)[0].plain.split("  ")[4] == "1 guard"
    assert "guard" not in header_rows(Cursor(trace, 0), 200)[0].plain


def test_calls_pane_shows_roles() -> None:
    trace = example("forum.py")
    rows = shown(CALLS, trace, below(trace), 120)
    assert [row[2:19].strip() for row in rows] == [
        "your code", "binding", "dispatcher", "autograd kernel", "dispatcher", "backend kernel"
    ]  # fmt: skip
    assert rows[-1].startswith("▶")


@pytest.mark.parametrize("width", [44, 80, 120])
def test_printed_stack_has_full_paths_and_pane_has_file_names(width: int) -> None:
    trace = example("forum.py")
    frames = [frame for frame in whole_stack(trace, below(trace)) if frame.file]
    for exact in (True, False):
        rows = whole_rows(trace, below(trace), width, exact=exact)
        said = "".join(part.plain.strip() for row in rows for part in wrap(row, width))
        assert all((frame.file if exact else frame.file.rpartition("/")[2]) in said for frame in frames), exact
        assert ("…" in said) == (not exact)


def test_tensors_pane_shows_arguments_of_a_call() -> None:
    trace = example("forum.py")
    rows = shown(TENSORS, trace, below(trace))
    assert rows[0] == "x  [2, 2] float32 cuda:0  requires grad  version 0  argument self"
    assert rows[1] == "   {AutocastCUDA, AutogradCUDA, ADInplaceOrView, CUDA}"
    assert rows[2] == "y  [2] float32 cuda:0  version 0  argument other  same keys"


def test_structured_pane_shows_meta_and_impl() -> None:
    trace = example("forum.py")
    rows = shown(STRUCTURED, trace, step(trace, ev.OutputAllocated, within=below(trace)), 120)
    parts = rows[: rows.index("classes, each below its base")]
    assert [row.split()[0] for row in parts if not row.startswith("    ")] == ["structured", "meta", "▶", "impl"]
    assert "structured_add_Tensor::meta" in rows[1]
    assert rows[2].strip() == "calls build_borrowing_binary_op"
    assert rows[3].endswith("[2, 2] float32  a new tensor")
    assert "structured_ufunc_add_CUDA::impl" in parts[-1]


def test_the_classes_of_a_structured_kernel_are_below_it() -> None:
    """The classes are those of its own key, with the differences of the other two forms."""
    trace = traced("import torch\nx = torch.ones(2)\nx.add_(1)\n")
    at = step(trace, event(ev.ImplEntered, function="structured_ufunc_add_CPU::impl"))
    rows = shown(STRUCTURED, trace, at, 120)
    start = rows.index("classes, each below its base")
    assert rows[start - 1].strip() == "calls add_stub"
    tree = [row.split("  ")[0].strip() if "●" not in row else row for row in map(str.lstrip, rows[start + 1 :])]
    assert [row.lstrip("├└ ") for row in tree if "●" not in row] == [
        "at::impl::MetaBase", "at::TensorIteratorBase", "at::meta::structured_add_Tensor",
        "at::native::structured_ufunc_add_CPU", "structured_ufunc_add_CPU_functional", "structured_ufunc_add_CPU_out",
    ]  # fmt: skip
    [own] = [row for row in rows if row.startswith("●")]
    assert own.split() == [
        *("●", "├", "structured_ufunc_add_CPU_inplace"),
        *("add_.Tensor:", "check_inplace(outputs_[i],", "sizes,", "options)"),
    ]


def test_engine_pane_shows_running_and_waiting_nodes() -> None:
    trace = example("forum.py")
    queued = step(trace, event(ev.NodeStarted, name="AddBackward0"))
    said = text(ENGINE, trace, queued)
    assert "2 of 3 Nodes started" in said
    assert "▶ runs     AddBackward0" in said
    assert "AccumulateGrad (x)  waits for 1 of 1 edge" in said


EVERYTHING = """\
import torch, warnings
warnings.simplefilter("ignore")
queue = torch.autograd.Variable._execution_engine.queue_callback
x, y = (torch.ones(2, device="cuda", requires_grad=True) for _ in range(2))
def inner(grad):
    queue(print)
    with torch.enable_grad():
        torch.autograd.grad((x * y).sum(), x)
a = x * 2
a.register_hook(inner)
with torch.cuda.stream(torch.cuda.Stream()):
    b = x.exp()
(a + b * y).sum().backward(inputs=[x])
x.grad.cpu()
"""


def test_engine_pane_unfolds_the_section_of_the_step() -> None:
    trace = traced(EVERYTHING)
    unfolded = set[str]()
    for at in range(len(trace)):
        folded, whole = (engine_pane.rows_as(trace, at, whole=each) for each in (False, True))
        if engine_state(trace, at) is None:
            assert len(whole) == 1
            continue
        assert len(folded) <= len(whole)
        assert all(row.goto is None or row.goto <= at for row in (*folded, *whole))
        assert not [row for row in whole if row.plain.startswith("▸")]
        heads = [row.key for row in folded if row.plain.startswith("▾")]
        assert len(heads) <= 1
        unfolded.update(heads)
    assert {head.removeprefix("section ") for head in unfolded} == {
        "Graph task", "exec_info_", "Reentrant", "Final callbacks", "Streams"
    }  # fmt: skip


def test_engine_pane_shows_gradient_sources_and_in_place_conditions() -> None:
    trace = traced("import torch\nx = torch.ones(2, requires_grad=True)\n(x * 2 + x.exp()).sum().backward()\n")
    said = text(ENGINE, trace, step(trace, event(ev.GradientBuffered, how="added in place")), 120)
    assert "input 0: t11 from ExpBackward0, edge 0  stored" in said
    assert "from MulBackward0, edge 0  added in place → t11" in said
    assert said.count("✓") == 7
    said = text(ENGINE, trace, step(trace, ev.GradientAccumulated), 120)
    assert "x.grad stolen  case 1.1 of torch/csrc/autograd/functions/accumulate_grad.h" in said
    assert "✓ obeys_layout_contract(new_grad)  strides [1]; the leaf has [1]" in said


def test_table_pane_marks_the_selected_entry() -> None:
    trace = example("forum.py")
    rows = shown(TABLE, trace, step(trace, event(ev.KernelSelected, kernel="VariableType::add_Tensor")), 120)
    assert rows[0] == "aten::add.Tensor  137 entries"
    assert len([row for row in rows if "▶" in row]) == 1
    assert rows[2 + 97].split() == ["▶", "97", "●", "AutogradCUDA", "VariableType::add_Tensor", "autograd", "kernel"]


def test_source_pane_ends_with_yaml_entries() -> None:
    trace = example("forum.py")
    said = text(SOURCE, trace, below(trace), 120)
    assert "native/native_functions.yaml" in said
    assert "structured_delegate: add.out" in said
    assert "native/derivatives.yaml" in said
    assert "yaml" not in text(SOURCE, trace, 0)


def test_output_pane_shows_the_output_so_far() -> None:
    trace = awkward("one\ntwo")
    at = step(trace, ev.Printed)
    assert shown(OUTPUT, trace, at) == ["one", "two"]
    assert text(OUTPUT, forum(), 3) == "Nothing printed yet, and none later."


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_text_of_a_program_breaks_a_pane(hostile: str) -> None:
    trace = awkward(hostile)
    for pane in BESIDE:
        for at in range(len(trace)):
            for width in (20, 40, 74, 130):
                for row in shown(pane, trace, at, width):
                    assert "\x1b" not in row
                    assert "\n" not in row


async def test_rows_that_are_cut_scroll_sideways() -> None:
    row = line(("abc", "dim"), "defgh", cut=True)
    assert [from_cell(row, left).plain for left in (0, 1, 3, 6)] == ["abcdefgh", "…cdefgh", "…efgh", "…h"]
    trace = example("forum.py")
    async with stepper(trace, (80, 24), below(trace)) as reader:
        await reader.press("4")
        before = reader.text
        await reader.press("greater_than_sign")
        assert reader.text != before
        assert reader.sees("…")
        await reader.press("less_than_sign")
        assert [row for row in reader.screen if "at::_ops" in row] == [
            row for row in before.split("\n") if "at::_ops" in row
        ]


CUT = [line("  ○ AddBackward0  edges 0 self=x, 1 other=y", cut=True, goto=1), line("  │", cut=True),
       line("  ○ AccumulateGrad (x)  [2, 2] float32 cuda:0", cut=True, here=True, goto=2)]  # fmt: skip


@pytest.mark.parametrize(("room", "lines"), [(0, 3), (3, 3), (4, 4), (5, 5), (9, 5)])
def test_rows_that_would_be_cut_take_free_lines(room: int, lines: int) -> None:
    shown = ChosenRows.of(CUT, 30, None, room)
    assert len(shown.lines) == lines
    assert all(row.width <= 30 or row.cut for row in shown.lines)
    here = shown.here
    assert here is not None
    assert (here + 1 < lines) == (room > 3), "the row in view is the first"
    assert shown.starts == {3: [0, 1, 2], 4: [0, 1, 2, 2], 5: [0, 0, 2, 3, 3]}[lines]


def test_a_path_in_a_free_line_loses_its_folders_first() -> None:
    row = line("  ", "THPVariable_add", ("  torch/csrc/autograd/generated/python_functions.cpp", "path"), cut=True)
    shown = [each.plain for each in ChosenRows.of([row], 34, None, 5).lines]
    assert shown == ["  THPVariable_add", "    …/python_functions.cpp"]


def test_memory_pane_shows_the_bytes_the_peak_and_each_storage() -> None:
    trace = traced("""
    import torch
    x = torch.ones(16, requires_grad=True)
    y = x.exp()
    y = (y.half() * 2).sin()
    y.sum().backward()
    """)
    assert shown(MEMORY, trace, line_of(trace, 5), 70)[:1] == [
        "64 bytes in 1 storage, and variables hold all of it too"
    ]
    rows = shown(MEMORY, trace, line_of(trace, 6), 70)
    assert rows[0] == "104 bytes in 3 storages, 104 bytes of it in no known variable"
    assert "▲" in rows[2]
    assert rows[3].startswith("peak 104 bytes at step ")
    assert rows[3].endswith(", line 5: y = (y.half() * 2).sin()")
    assert [row.split()[:2] for row in rows if row.startswith((" " * 2 + "64 bytes", " " * 2 + "32 bytes"))] == [
        ["64", "bytes"],
        ["32", "bytes"],
    ]
    assert any("by ExpBackward0 as result: line 4 to 6, until it has run" in row for row in rows)
    assert shown(MEMORY, trace, last_step(trace), 70)[0] == "No saved tensor is kept at this step"
