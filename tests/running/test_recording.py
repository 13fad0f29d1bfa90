"""``record()`` in the user's own Python: lines, names, errors, and a trace that can be read while it grows."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.record.events import Dispatched, NameBound, NodeCreated, ProgramRaised, SourceLine, TensorCreated
from dispatchviz.core.record.machine_recorder import Recorder
from dispatchviz.core.record.trace_file import Header, TraceError
from dispatchviz.core.seam import recorder
from dispatchviz.running.call_sites import is_users_file, user_locations
from dispatchviz.running.recording import record
from dispatchviz.trace import Trace

HERE = "tests/running/test_recording.py"


def _here() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def test_the_trace_knows_the_lines_that_called() -> None:
    with dispatchviz.record() as trace:
        first = _here() + 1
        x = torch.ones(2)
        y = torch.add(
            x,
            x,
        )
        (x * y).sum()
    lines = [(event.file, event.line) for event in trace if isinstance(event, SourceLine)]
    assert lines == [(HERE, first), (HERE, first + 1), (HERE, first + 5)]
    assert trace.header.program == HERE
    assert trace.header.sources == {HERE: Path(__file__).read_text()}


def test_each_iteration_of_a_loop_is_a_line() -> None:
    x = torch.ones(2)
    with dispatchviz.record() as trace:
        for _ in range(3):
            x = x + 1
    assert len([event for event in trace if isinstance(event, SourceLine)]) == 3


def test_the_trace_knows_the_names() -> None:
    known, stranger = torch.ones(2), torch.ones(3)
    with dispatchviz.record() as trace:
        result = known + 1
    names = [(event.name, event.tensor) for event in trace if isinstance(event, NameBound)]
    created = {
        event.tensor: event.shape for event in trace if isinstance(event, TensorCreated) if not event.wrapped_number
    }
    assert [name for name, _ in names] == ["known", "result"]
    assert (3,) not in created.values(), "a tensor that took no part is no part of the trace"
    assert result.shape != stranger.shape


def test_an_exception_passes_through_and_is_the_last_event() -> None:
    with pytest.raises(RuntimeError, match="leaf Variable"), dispatchviz.record() as trace:  # noqa: PT012
        x = torch.zeros(2, requires_grad=True)
        x.add_(1)
    last = trace[-1]
    assert isinstance(last, ProgramRaised)
    assert (last.exception, last.file, last.line) == ("RuntimeError", HERE, _here() - 3)
    assert recorder.active is None


def test_recordings_do_not_nest() -> None:
    with record() as outer:
        with pytest.raises(RuntimeError, match="a recording is already running"), record():
            pass
        torch.ones(1)
    assert len(outer) > 0


def test_a_growing_trace_can_be_looked_at() -> None:
    with record() as trace:
        x = torch.ones(2, requires_grad=True)
        assert len(trace.depths) == len(trace.ends) == len(trace)
        y = x * x
        assert len(trace.depths) == len(trace.ends) == len(trace)
        assert y.requires_grad
    assert next(event.name for event in trace if isinstance(event, NodeCreated)) == "MulBackward0"


def test_nothing_is_recorded_outside() -> None:
    with record() as trace:
        pass
    torch.ones(2)
    assert len(trace) == 0


def test_a_recorder_that_fails_is_dropped_and_the_program_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(self: object, *fields: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(Recorder, "_introduce", fault)
    with pytest.warns(RuntimeWarning, match="recording stopped"), record() as trace:
        result = torch.ones(2) + 1
    assert result.tolist() == [2.0, 2.0]
    assert "because of a bug in dispatchviz: ZeroDivisionError('ours')" in trace.notice


def test_traces_are_saved_loaded_and_drawn(tmp_path: Path) -> None:
    with record() as trace:
        x = torch.ones(2, requires_grad=True)
        x.sum().backward()
    trace.save(tmp_path / "t.jsonl.gz")
    loaded = dispatchviz.load(tmp_path / "t.jsonl.gz")
    assert isinstance(loaded, Trace)
    assert list(loaded) == list(trace)
    loaded.backward_graph().render(tmp_path / "g.dot")
    assert "SumBackward0" in (tmp_path / "g.dot").read_text()
    with pytest.raises(TraceError, match="cannot read"):
        dispatchviz.load(tmp_path / "none.jsonl")


def test_show_prints_the_log_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    Trace(Header(cuda="emulated on NumPy (requested)", program="p.py"), []).show()
    assert capsys.readouterr().out == "p.py on the model of PyTorch 2.14.1, cuda: emulated on NumPy (requested)\n"


def test_another_frame_instead_of_one_that_is_gone_is_not_where_the_recording_began() -> None:
    frame = inspect.currentframe()
    assert frame is not None
    assert user_locations(frame, (id(frame), frame.f_code)) == ()
    found = user_locations(frame, (id(frame), user_locations.__code__))
    assert found[-1][0] is frame.f_code


@pytest.mark.parametrize("folder", ["python3.13/site-packages", "python3/dist-packages"])
def test_installed_packages_are_no_code_of_the_users(folder: str) -> None:
    """Debian's folder of packages has another name."""
    assert not is_users_file(f"/usr/lib/{folder}/torch/_tensor.py")
    assert is_users_file("/home/me/packages/torch_things.py")


def test_code_from_a_string_that_records_itself_is_recorded_without_lines() -> None:
    names: dict[str, Any] = {}
    exec(
        "import dispatchviz\nfrom dispatchviz import torch\n"
        "with dispatchviz.record() as trace:\n    torch.ones(2).exp()\n",
        names,
    )
    trace = names["trace"]
    assert not trace.notice
    assert "aten::exp" in {event.operator for event in trace if isinstance(event, Dispatched)}
    assert not len(trace.steps_of(SourceLine))
