"""Tests of what-if in the stepper: the list of changes, the program run again, the result."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.event_filter import read_only
from dispatchviz.explain.comparison.divergences import compare
from dispatchviz.explain.comparison.what_if.changed_request import ChangedRequest, changed_request
from dispatchviz.explain.comparison.what_if.changes import read_change
from dispatchviz.explain.comparison.what_if.offered_changes import not_offered, offered_changes
from dispatchviz.explain.trace_index.enclosing_steps import source_line
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.running.engines import engine_named
from dispatchviz.running.program import run
from dispatchviz.running.program_source import Code
from dispatchviz.testing import redispatch
from dispatchviz.trace import Trace
from dispatchviz.tui.app import StepperApp
from dispatchviz.tui.comparison.comparison_rows import list_row, why
from dispatchviz.tui.comparison.comparison_state import Compared, opened
from dispatchviz.tui.comparison.what_if.changed_process import ChangedProcess
from dispatchviz.tui.comparison.what_if.what_if_screen import compared
from dispatchviz.views.session import Session, Update
from tests.explain.comparison.what_if.programs import FORUM, changed, written
from tests.explain.comparison.what_if.test_changes import WITH
from tests.steps import line, step
from tests.waiting import HANGS

from .screens import Reader, stepper, stepper_of


def script(folder: Path, text: str, name: str = "script.py") -> Trace:
    """The trace of a program in a file."""
    file = folder / name
    file.write_text(text)
    return run(str(file)).trace


def commands(trace: Trace, at: int) -> list[str]:
    """The changes that are offered at a step."""
    return [each.change.text for each in offered_changes(trace, at)]


def printed(trace: Trace) -> str:
    """The output of a program."""
    events = (trace[step] for step in trace.steps_of(ev.Printed))
    return "".join(event.text for event in events if isinstance(event, ev.Printed))


ENDLESS = "import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\nwhile not y.requires_grad:\n    pass\n"
"""A program that does not end if its third line runs without gradients."""


# -- what is offered --------------------------------------------------------------------------------------------------


def test_offered_changes_come_from_the_step() -> None:
    trace = written(FORUM)
    assert commands(trace, line(trace, 6)) == [
        "line 6: no_grad",
        "line 6: inference_mode",
        "line 6: autocast cuda",
        "line 6: requires_grad x off",
        "line 6: device cpu x",
        "line 6: dtype float64 x",
        "line 6: requires_grad y",
        "line 6: device cpu y",
        "line 6: dtype float64 y",
        "line 6: fallthrough AutogradCUDA aten::add.Tensor",
        "line 6: register AutogradCUDA aten::add.Tensor",
        "line 6: skip",
    ]
    below = step(trace, redispatch("aten::add.Tensor"))
    assert "line 6: fallthrough CUDA aten::add.Tensor" in commands(trace, below), "of the call that the step is in"


def test_a_guard_around_a_line_can_be_switched_off() -> None:
    trace = written(WITH)
    assert {"line 3: skip", "line 4: enable_grad"} <= set(commands(trace, line(trace, 4)))
    assert {"line 5: skip", "line 7: enable_grad"} <= set(commands(trace, line(trace, 7)))
    assert "line 3: skip" not in commands(trace, line(trace, 8))
    switched = written("import torch\ntorch.set_grad_enabled(False)\nx = torch.ones(2)\n")
    assert {"line 2: skip", "line 3: enable_grad"} <= set(commands(switched, line(switched, 3)))


@pytest.mark.parametrize("source", [FORUM, WITH, "import torch\nfor i in range(2):\n    x = torch.ones(2)\n"])
def test_every_offered_change_can_be_run(source: str) -> None:
    trace = written(source)
    for at in trace.steps_of(ev.SourceLine):
        for offered in offered_changes(trace, at):
            assert read_change(offered.change.text) == offered.change
            assert offered.text == source.splitlines()[offered.change.line - 1].strip()


# -- the process ------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_process_records_what_the_changed_program_does(tmp_path: Path) -> None:
    trace = script(tmp_path, FORUM)
    again = ChangedProcess(trace, read_change("6: no_grad"), [str(tmp_path / "script.py")]).result()
    assert compare(again, changed(FORUM, "6: no_grad")).same_way
    assert isinstance(again[-1], ev.ProgramRaised), "an error is an answer"
    assert (tmp_path / "script.py").read_text() == FORUM


@pytest.mark.long
def test_changed_program_gets_its_arguments_and_no_keyboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "import sys, torch\nprint(sys.argv[1:], repr(sys.stdin.read()))\nx = torch.ones(2)\n"
    file = tmp_path / "script.py"
    file.write_text(text)
    with open(os.devnull) as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        trace = run(str(file), ["one", "--two"]).trace
    again = ChangedProcess(trace, read_change("3: no_grad"), ()).result()
    assert again is not None
    assert printed(again) == "['one', '--two'] ''\n"


@pytest.mark.long
def test_changed_run_uses_the_same_recording_options(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(FORUM)
    plain = run(str(file), only=read_only(["op=add,line=script.py:6"]), hashes=True, values=16).trace
    again = ChangedProcess(plain, read_change("6: enable_grad"), [str(file)]).result()
    assert again.header.only == plain.header.only == ("op=add", "line=script.py:6")
    found = compare(plain, again)
    assert found.hashed
    assert len(again.steps_of(ev.NumbersRecorded)) == len(plain.steps_of(ev.NumbersRecorded)) > 0
    whole = changed(FORUM, "6: enable_grad")
    assert len(again) < len(whole) / 2


@pytest.mark.long
def test_working_folder_modules_do_not_shadow_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ast", "random", "types"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('not for dispatchviz')\n")
    trace = script(tmp_path, "import sys, torch\nx = torch.ones(2)\nprint(sys.path[0])\n")
    monkeypatch.chdir(tmp_path)
    again = ChangedProcess(trace, read_change("2: no_grad"), ["script.py"]).result()
    assert again is not None
    assert printed(again) == f"{tmp_path}\n"


def test_program_that_is_not_utf8_runs_again(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    for text in (b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", b"\xef\xbb\xbfx = 1\r\n"):
        file.write_bytes(text)
        trace = run(str(file), ["\udcff"]).trace
        request = changed_request(trace, read_change("1: no_grad"), "")
        assert (request.kind, request.program) == ("file", str(file))
        assert ChangedRequest.decoded(request.encoded()) == request


@pytest.mark.parametrize(("words", "kind"), [
    (["script.py", "-m", "bert"], "file"),
    (["-m", "script", "-m", "bert"], "module"),
    (["--only", "op=add", "-m", "script", "-m", "bert"], "module"),
    ([], "file"),
])  # fmt: skip
def test_module_of_option_m_runs_again(tmp_path: Path, words: list[str], kind: str) -> None:
    file = tmp_path / "script.py"
    file.write_text("x = 1\n")
    trace = run(str(file), ["-m", "bert"]).trace
    request = changed_request(trace, read_change("1: no_grad"), "", words)
    assert (request.kind, request.program) == (kind, "script" if kind == "module" else str(file))


def test_recording_of_another_release_is_not_run_again(tmp_path: Path) -> None:
    trace = script(tmp_path, "import torch\nx = torch.ones(2)\n")
    header = msgspec.structs.replace(trace.header, engine="torch", pytorch="2.99.0+cpu")
    with pytest.raises(DispatchvizError, match=r"would run on PyTorch 2\.99\.0\+cpu again, but .* is installed here"):
        changed_request(Trace(header, trace.events), read_change("2: no_grad"), "")


@pytest.mark.torch
def test_changed_program_runs_on_the_engine_of_the_recording(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(
        "import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\nz = y + 1\nprint(z.requires_grad)\n"
    )
    trace = run(str(file), engine=engine_named("torch")).trace
    again = ChangedProcess(trace, read_change("4: fallthrough AutogradCPU add"), []).result()
    assert again is not None
    assert (again.header.engine, printed(again)) == ("torch", "False\n")
    assert [each.kernel for each in again if isinstance(each, ev.KernelRegistered)][:1] == ["fallthrough_kernel"]


@pytest.mark.long
def test_long_text_of_option_c_runs_again() -> None:
    trace = run(Code(f"import torch\nx = torch.ones(2) * 2\n# {'long ' * 30_000}\n")).trace
    again = ChangedProcess(trace, read_change("2: inference_mode"), []).result()
    assert len(again.steps_of(ev.InferenceModeChanged)) == 2


@pytest.mark.long
def test_run_without_a_trace_reports_how_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "import os, torch\nif 'AGAIN' in os.environ:\n    os.kill(os.getpid(), 9)\nx = torch.ones(2)\n"
    trace = script(tmp_path, text)
    monkeypatch.setenv("AGAIN", "1")
    with pytest.raises(DispatchvizError, match="left no trace: ended by SIGKILL"):
        ChangedProcess(trace, read_change("4: no_grad"), ()).result()


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux")
def test_killed_stepper_leaves_no_process_behind(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(ENDLESS)
    stepper = """if True:
        import os, sys
        from dispatchviz.explain.comparison.what_if.changes import read_change
        from dispatchviz.running.program import run
        from dispatchviz.tui.comparison.what_if.changed_process import ChangedProcess
        process = ChangedProcess(run("script.py").trace, read_change("3: no_grad"), ())
        trace = process._folder
        while not any(path.suffix == ".dvtrace" for path in trace.iterdir()):
            pass
        print(process._process.pid, flush=True)
        os.kill(os.getpid(), 9)
        """
    ended = subprocess.run(
        [sys.executable, "-c", stepper], cwd=tmp_path, env=os.environ | {"TMPDIR": str(tmp_path)}, capture_output=True
    )
    assert ended.returncode == -9, ended.stderr
    begun, number = time.monotonic(), int(ended.stdout)
    while is_running(number):
        assert time.monotonic() - begun < HANGS


def is_running(number: int) -> bool:
    """Return whether a process exists that has not ended."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_temporary_folder_is_always_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    trace = script(tmp_path, ENDLESS)
    process = ChangedProcess(trace, read_change("3: no_grad"), ())
    assert len(list(folder.iterdir())) == 1
    process.stop()
    assert not list(folder.iterdir())
    assert process.result() is None
    (tmp_path / "script.py").unlink()
    with pytest.raises(DispatchvizError, match="there is no file"):
        ChangedProcess(trace, read_change("3: no_grad"), ())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(DispatchvizError, match="cannot start the changed run: No such file"):
        ChangedProcess(trace, read_change("3: no_grad"), ())


@pytest.mark.parametrize(
    ("text", "says"),
    [(None, "there is no file"), ("import torch\n", "has changed since it was recorded: run it again first")],
)
async def test_missing_program_is_reported_in_one_line(tmp_path: Path, text: str | None, says: str) -> None:
    trace = script(tmp_path, FORUM)
    if text is None:
        (tmp_path / "script.py").unlink()
    else:
        (tmp_path / "script.py").write_text(text)
    async with stepper(trace, size=(200, 60)) as reader:
        await reader.press("W")
        assert reader.sees("What if is not available here:")
        assert says in " ".join(reader.text.split())


async def test_a_program_from_standard_input_cannot_be_run_again() -> None:
    async with stepper(written(FORUM), size=(120, 40)) as reader:
        await reader.press("W")
        assert reader.sees("What if is not available here: the program came from standard input: there is no file")


# -- the screen -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (60, 15)])
async def test_list_shows_possible_changes(tmp_path: Path, size: tuple[int, int]) -> None:
    trace = script(tmp_path, FORUM)
    async with stepper(trace, size, step=line(trace, 6)) as reader:
        await reader.press("W")
        assert reader.sees("What if (Enter runs the program with this change", "▶ line 6  no_grad")
        await reader.press("down", "down", "down")
        assert reader.sees("▶ line 6  requires_grad x off")
        await reader.press("up")
        assert reader.sees("▶ line 6  autocast cuda")
        await reader.press("escape")
        assert not reader.sees("What if (Enter")
        assert reader.at == line(trace, 6)


async def test_typing_filters_or_writes_changes(tmp_path: Path) -> None:
    trace = script(tmp_path, FORUM)
    begun: list[str] = []
    async with stepper(trace, step=line(trace, 6)) as reader:
        await reader.press("W")
        reader.app.screen._view._run = lambda change: begun.append(change.text)  # type: ignore[attr-defined]
        for typed, runs in RUNS.items():
            await typing(reader, typed)
            assert not begun, "no letter runs anything"
            await reader.press("enter", "ctrl+u")
            assert begun == [runs], typed
            begun.clear()


RUNS = {
    "no_grad": "line 6: no_grad",
    "requires": "line 6: requires_grad x off",
    "skip": "line 6: skip",
    "float x": "line 6: dtype float64 x",
    "dtype bfloat16 x": "line 6: dtype bfloat16 x",
    "line 7: inference_mode": "line 7: inference_mode",
    "4: autocast": "line 4: autocast cuda",
}
"""The typed texts, and the changes that Enter runs."""


async def typing(reader: Reader, text: str) -> None:
    """Type a text as a keyboard does."""
    named = {" ": "space", "_": "underscore", ":": "colon"}
    await reader.press(*(named.get(each, each) for each in text))


async def test_typed_text_that_is_no_change_shows_a_reason(tmp_path: Path) -> None:
    trace = script(tmp_path, FORUM)
    async with stepper(trace, size=(160, 40), step=line(trace, 6)) as reader:
        await reader.press("W")
        for typed, says in REFUSED.items():
            await typing(reader, typed)
            await reader.press("enter")
            assert reader.sees(says)
            await reader.press("ctrl+u")
            assert reader.sees("▶ line 6  no_grad")
        await reader.press("escape")
        assert not reader.sees("What if (")


REFUSED = {
    "no_gard": "there is no change 'no_gard'; the changes are no_grad,",
    "device gpu x": "there is no device 'gpu': write cpu, cuda, cuda:1 or meta",
    "dtype float64 q": "the line does not read q; names on it are",
    "line 99: skip": "the line has no statement",
}
"""The typed texts, and the reasons why nothing runs."""


async def test_guard_of_pytorch_is_not_offered(tmp_path: Path) -> None:
    trace = script(tmp_path, FORUM)
    guards = [at for at in trace.steps_of(ev.GuardEntered) if source_text(trace, at) == "z = torch.add(x, y)"]
    async with stepper(trace, (200, 60), step=guards[0]) as reader:
        await reader.press("W")
        assert reader.sees("AutoDispatchBelowADInplaceOrView cannot be removed: PyTorch holds this guard inside a")
        await reader.press("up")
        assert reader.sees("▶ line 6  skip")
    assert not_offered(trace, line(trace, 6)) == ""
    held = written("import torch\nwith torch.inference_mode():\n    x = torch.ones(2)\n")
    guard = next(iter(held.steps_of(ev.GuardEntered)))
    assert not_offered(held, guard) == "", "this one is a line of the program"


def source_text(trace: Trace, at: int) -> str:
    """The source text of a step's line."""
    found = source_line(trace, at)
    return "" if found is None else trace.header.sources[found.file].splitlines()[found.line - 1]


async def test_enter_runs_the_program_and_opens_both_runs_once_no_palette_is_over_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = script(tmp_path, FORUM)
    opens: list[Any] = []
    palette_is_open, result = Event(), ChangedProcess.result
    monkeypatch.setattr(ChangedProcess, "result", lambda self: palette_is_open.wait(HANGS) and result(self))
    async with stepper_of(Session(trace, line(trace, 6), run_arguments=[str(tmp_path / "script.py")])) as reader:
        app: StepperApp = reader.app
        app.exit = lambda result=None, *_: opens.append(result)  # type: ignore[method-assign]
        await reader.press("W", "enter")
        assert reader.sees("Running with line 6: no_grad ... Esc stops it")
        await reader.press("down", "enter")
        screen = reader.app.screen
        await reader.press("ctrl+p")
        assert reader.app.screen is not screen
        palette_is_open.set()
        await reader.until(lambda: screen._ended is not None)  # type: ignore[attr-defined]
        assert not opens
        await reader.press("escape")
        await reader.until(lambda: bool(opens))
    assert callable(opens[0])


async def test_escape_stops_a_program_that_does_not_end(tmp_path: Path) -> None:
    trace = script(tmp_path, ENDLESS)
    async with stepper(trace, step=line(trace, 3)) as reader:
        await reader.press("W", "enter")
        assert reader.sees("Running with line 3: no_grad ... Esc stops it")
        process = reader.app.screen._process  # type: ignore[attr-defined]
        await reader.press("escape")
        assert reader.sees("Stopped")
        await reader.until(lambda: process._process.poll() is not None)
        await reader.press("s")
        assert reader.at == line(trace, 3) + 1


async def test_leaving_the_stepper_stops_the_program(tmp_path: Path) -> None:
    trace, processes = script(tmp_path, ENDLESS), []
    async with stepper(trace, step=line(trace, 3)) as reader:
        await reader.press("W", "enter")
        processes.append(reader.app.screen._process._process)  # type: ignore[attr-defined]
    assert processes[0].wait() != 0


def test_what_if_opens_both_runs(tmp_path: Path) -> None:
    trace = script(tmp_path, FORUM)
    session = Session(trace, line(trace, 6))
    update = compared(session, changed(FORUM, "6: no_grad"), read_change("6: no_grad"))
    assert isinstance(update, Update)
    two = update.opens.__closure__[0].cell_contents  # type: ignore[attr-defined]
    state = opened(Compared((two,)))
    said = " ".join(each.plain for each in why(state, 200, 9))
    assert "They first differ at line 6: z = torch.add(x, y)" in said
    assert "Only in the changed run: torch.no_grad() switches grad mode off" in said
    rows = [list_row(state, at, 119).plain for at in range(len(state.rows))]
    assert any(text.startswith("▶>") and "grad mode off (torch.no_grad())" in text for text in rows)


def test_change_without_effect_gives_a_note(tmp_path: Path) -> None:
    trace = script(tmp_path, FORUM)
    update = compared(Session(trace, 0), trace, read_change("6: enable_grad"))
    assert update.opens is None
    assert update.note.plain == " With line 6: enable_grad, the program does exactly the same"
