"""Files for Perfetto: the profiler's slices and arrows, our own rows, and the format of the file."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.outputs.formats import check_export, export
from dispatchviz.outputs.perfetto.profiler_slices import LASTS
from dispatchviz.outputs.perfetto.trace_json import CLOCK, perfetto_chunks
from dispatchviz.running.program import run
from dispatchviz.trace import Trace
from tests.cli.command import FORUM
from tests.explain.programs import traced
from tests.profiles import arrows, nested
from tests.tui.programs import forum
from truth.programs import PROGRAMS

Events = list[dict[str, Any]]


def content(trace: Trace) -> dict[str, Any]:
    """Return the file, read by Python's own JSON."""
    read = json.loads(b"".join(perfetto_chunks(trace)))
    assert isinstance(read, dict)
    return read


def events_of(trace: Trace) -> Events:
    events: Events = content(trace)["traceEvents"]
    return events


def test_slices_have_the_names_and_numbers_of_the_profiler() -> None:
    """The slices are those that ``torch.profiler`` wrote for the same lines on the CPU."""
    rows = nested(events_of(forum()), sizes=False)
    at = rows.index("aten::add (0, False)")
    assert rows[at : at + 2] == ["aten::add (0, False)", "aten::sum (1, False)"]
    backward = [row for row in rows if "evaluate_function" in row]
    assert backward == [
        "autograd::engine::evaluate_function: SumBackward0 (1, True)",
        "autograd::engine::evaluate_function: AddBackward0 (0, True)",
        "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad (None, False)",
    ]
    assert "  AddBackward0 (0, True)" in rows
    assert arrows(events_of(forum())) == [
        (("aten::add", 0), ("AddBackward0", 0)),
        (("aten::sum", 1), ("SumBackward0", 1)),
    ]


def test_sizes_are_those_at_the_call() -> None:
    source = "import torch\nx = torch.ones(2, 3)\nx.resize_(6)\ny = torch.cat([x, x[:2]])\n"
    events = events_of(traced(source))
    found = {event["name"]: event["args"] for event in events if event.get("cat") == "cpu_op"}
    assert found["aten::resize_"]["Input Dims"] == [[2, 3], [], []]
    assert found["aten::resize_"]["Input Strides"] == [[3, 1], [], []]
    assert found["aten::cat"]["Input Dims"] == [[[6], [2]], []]


def test_an_arrow_to_the_function_in_a_copy_slices_ends_in_it() -> None:
    """The arrow begins between the clone of the gradient and the function's first call."""
    source = "import torch\nx = torch.ones(3, requires_grad=True)\ny = x * 1\ny[:2].mul_(3)\ny.sum().backward()\n"
    events = events_of(traced(source))
    assert (("aten::mul_", 2), ("MulBackward0", 2)) in arrows(events)


def test_a_step_is_a_microsecond_and_nothing_is_without_length() -> None:
    read = content(forum())
    assert read["dispatchviz_trace_events"]["clock"] == CLOCK
    slices = [event for event in read["traceEvents"] if event["ph"] == "X"]
    assert min(event["dur"] for event in slices) == LASTS
    assert all(event["args"]["step"] == event["ts"] for event in slices)
    calls = {event["ts"] for event in slices if event["cat"] == "dispatch"}
    assert calls == set(forum().steps_of(ev.Dispatched, ev.KernelEntered))


def test_slices_of_a_row_are_within_each_other_or_apart() -> None:
    """Perfetto cannot show other slices. A backward on a device's thread has a row of its own."""
    rows: dict[int, Events] = {}
    for event in events_of(forum()):
        if event["ph"] == "X":
            rows.setdefault(event["tid"], []).append(event)
    assert len(rows) > 5
    for events in rows.values():
        open_: list[int] = []
        for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
            while open_ and open_[-1] <= event["ts"]:
                open_.pop()
            end = event["ts"] + event["dur"]
            assert not open_ or end <= open_[-1]
            open_.append(end)


def test_no_slice_of_its_row_begins_or_ends_where_an_arrow_is_tied() -> None:
    """Chrome's viewer counts both ends as part of a slice, so it would attach the arrow to a neighbor."""
    events = events_of(forum())
    for arrow in [event for event in events if event.get("cat") == "fwdbwd"]:
        row = [event for event in events if event["ph"] == "X" and event["tid"] == arrow["tid"]]
        assert arrow["ts"] not in {edge for event in row for edge in (event["ts"], event["ts"] + event["dur"])}


def test_rows_have_names() -> None:
    """Rows of keys, guards, lines, and the thread on which PyTorch runs CUDA's Nodes have names."""
    events = events_of(forum())
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert {"the program's thread", "pt_autograd_0", "keys", "guards", "lines", "dispatches and kernels"} <= {
        *names.values()
    }
    used = {event["tid"] for event in events if event["ph"] == "X"}
    assert used <= set(names)
    of_node = next(event for event in events if event["name"] == "AddBackward0" and event["ph"] == "X")
    assert names[of_node["tid"]] == "pt_autograd_0"


def test_every_key_set_is_named() -> None:
    events = events_of(forum())
    add = next(event for event in events if event["name"] == "aten::add" and event.get("cat") == "cpu_op")
    assert add["args"]["Dispatch key set"] == "0x1000010002 (AutogradCUDA, CUDA)"
    assert add["args"]["Dispatch key"] == "AutogradCUDA"
    guard = next(event for event in events if event.get("cat") == "guard")
    assert guard["name"] == "AutoDispatchBelowADInplaceOrView"
    assert set(guard["args"]) == {"included before", "included", "excluded before", "excluded", "step"}


def test_the_ready_queue_is_counted() -> None:
    """Both leaves of a sum are ready at once. In the end nothing waits, and every wait has ended."""
    source = "import torch\na = torch.ones(2, requires_grad=True)\nb = torch.ones(2, requires_grad=True)\n"
    trace = traced(f"{source}(a + b).sum().backward()\n")
    events = events_of(trace)
    lengths = [event["args"]["Nodes"] for event in events if event["name"] == "ready queue of cpu"]
    assert lengths == [1, 0, 1, 0, 1, 2, 1, 0]
    begun = {(event["id"], event["name"]) for event in events if event["ph"] == "b"}
    assert begun == {(event["id"], event["name"]) for event in events if event["ph"] == "e"}
    assert len(begun) == len(trace.steps_of(ev.NodeStarted))


def test_lines_of_other_threads_have_rows_of_their_own() -> None:
    trace = traced(
        "import threading, torch\n"
        "begun, done = threading.Event(), threading.Event()\n"
        "def work():\n    return torch.ones(2) * (begun.set() or done.wait() and 2)\n"
        "def rest():\n    begun.wait()\n    torch.zeros(2)\n    done.set()\n    thread.join()\n"
        "thread = threading.Thread(target=work)\nthread.start()\nrest()\n"
    )
    rows = {event["name"]: event["tid"] for event in events_of(trace) if event.get("cat") == "cpu_op"}
    assert rows["aten::zeros"] != rows["aten::mul"]


def test_steps_of_a_thread_are_in_its_own_rows() -> None:
    """This holds even while the program's own thread waits for it between two lines."""
    trace = traced(
        "import threading, torch\n"
        "def inner():\n    return torch.ones(2)\n"
        "def work():\n    x = torch.zeros(2)\n    inner()\n"
        "for number in range(2):\n    thread = threading.Thread(target=work)\n    thread.start()\n    thread.join()\n"
        "inner().neg()\n"
    )
    rows = [(event["name"], event["tid"]) for event in events_of(trace) if event.get("cat") == "cpu_op"]
    called = [row for row in rows if row[0] in ("aten::zeros", "aten::ones", "aten::neg")]
    thread = [("aten::zeros", 2), ("aten::ones", 2)]
    assert called == [*thread, *thread, ("aten::ones", 1), ("aten::neg", 1)]


def test_threads_one_after_the_other_have_rows_and_arrows_of_their_own() -> None:
    trace = traced(
        "import threading, torch\n"
        "w = torch.ones(2, requires_grad=True)\n"
        "def work():\n    y = w * 2\n    y.sum().backward()\n"
        "for number in range(3):\n    thread = threading.Thread(target=work)\n    thread.start()\n    thread.join()\n"
    )
    events = events_of(trace)
    assert [event["tid"] for event in events if event["name"] == "MulBackward0" and event["ph"] == "X"] == [2, 3, 4]
    pair = [(("aten::mul", 0), ("MulBackward0", 0)), (("aten::sum", 1), ("SumBackward0", 1))]
    assert arrows(events) == sorted(pair * 3)
    tied = {event["id"]: event["tid"] for event in events if event.get("ph") == "s"}
    assert all(tied[event["id"]] == event["tid"] for event in events if event.get("ph") == "f")


@pytest.mark.parametrize("name", sorted(PROGRAMS)[::100])
def test_any_program_gives_valid_events(name: str) -> None:
    """Programs that raise errors do so too: every slice is within the trace, and every arrow has two ends."""
    trace = traced(PROGRAMS[name])
    events = events_of(trace)
    for event in events:
        assert event["ph"] in "MXsfbeC"
        assert 0 <= event["ts"] < max(len(trace), 1)
        assert event["ts"] + event.get("dur", 0) <= max(len(trace), 1)
    arrows(events)


def test_equal_programs_give_equal_bytes(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.perfetto.json", tmp_path / "b.json.gz"
    export(forum(), plain)
    export(run(FORUM, (), io.StringIO()).trace, packed)
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    export(forum(), tmp_path / "c.json.gz")
    assert (tmp_path / "c.json.gz").read_bytes() == packed.read_bytes()


def test_file_of_another_program_is_not_replaced(tmp_path: Path) -> None:
    mine = tmp_path / "trace.json"
    mine.write_text('{"schemaVersion": 1, "traceEvents": []}')
    with pytest.raises(DispatchvizError, match="exists and is not a Perfetto trace from dispatchviz"):
        check_export(str(mine), ".json")
    mine.unlink()
    for _ in range(2):
        check_export(str(mine), ".json")
        export(forum(), mine)
    packed = tmp_path / "trace.json.gz"
    export(forum(), packed)
    check_export(str(packed), ".json.gz")
    packed.write_bytes(gzip.compress(b'{"dispatchviz_snapshot": 1}'))
    with pytest.raises(DispatchvizError, match="exists and is not a Perfetto trace"):
        check_export(str(packed), ".json.gz")


def test_texts_of_the_program_come_out_as_themselves() -> None:
    """Markup stays text, because JSON has none. Control characters for a terminal are shown."""
    trace = traced('import torch\nname = "<script>{}|\\\\ 🙂 \u202e"\n')
    names = [event["name"] for event in events_of(trace) if event.get("cat") == "line"]
    assert any("<script>{}|\\\\ 🙂 \\u202e" in name for name in names)
