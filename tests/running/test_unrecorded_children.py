"""The head of every view of a trace names the child processes that the trace does not contain."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import msgspec
import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.notebook.cell import Cell
from dispatchviz.notebook.cell_run import run_cell
from dispatchviz.outputs.cell.trace_card import trace_html, trace_markdown
from dispatchviz.outputs.hand_out.steps_page import StepsPage
from dispatchviz.outputs.log.log_filter import LogFilter
from dispatchviz.outputs.log.text_log import text_log
from dispatchviz.outputs.page.player_data import player_data
from dispatchviz.outputs.perfetto.trace_json import perfetto_chunks
from dispatchviz.running.engines import MODEL
from dispatchviz.running.process.unrecorded_children import UnrecordedChildren
from dispatchviz.running.recording import EngineName
from dispatchviz.trace import Trace
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.screen_bars import MOST_NOTICES, header_rows
from tests.cli.command import dispatchviz as command
from tests.cli.command import script

PROGRAM = """\
import multiprocessing, os, subprocess, sys
import torch

def work():
    pass

if __name__ == "__main__":
    x = torch.ones(2)
    subprocess.run([sys.executable, "-S", "-c", "pass"], check=True)
    x = x + x
    process = multiprocessing.get_context("spawn").Process(target=work)
    process.start()
    process.join()
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
"""

NEW, FORKED = "2 new Python processes were not recorded: ", "a forked process was not recorded: "


def with_remarks(*remarks: str, notice: str = "") -> Trace:
    trace = small()
    return Trace(msgspec.structs.replace(trace.header, remarks=remarks), trace.events, notice)


@cache
def small() -> Trace:
    with dispatchviz.record("program.py") as trace:
        torch.ones(2)
    return trace


def new_python() -> None:
    subprocess.run([sys.executable, "-S", "-c", "pass"], check=True)


def test_processes_of_a_kind_are_counted_and_have_no_numbers() -> None:
    steps = iter((3, 7))
    children = UnrecordedChildren(lambda: next(steps))
    assert children.sentences() == ()
    children.begun(4242)
    assert children.sentences() == ("a new Python process was not recorded: it began before step 3",)
    children.forked(4243)
    children.begun(4244)
    assert children.sentences() == (
        "2 new Python processes were not recorded: the first began before step 3",
        "a forked process was not recorded: it began before step 7",
    )


@pytest.mark.long
@pytest.mark.parametrize("engine", ["model", pytest.param("torch", marks=pytest.mark.torch)])
def test_command_reports_new_pythons_and_forks(engine: EngineName, tmp_path: Path) -> None:
    program = script(tmp_path, PROGRAM)
    ended = command("trace", "--engine", engine, "--save", "a.dvtrace", program, cwd=tmp_path)
    assert (ended.status, f"{NEW}the first began before step " in ended.err, FORKED in ended.err) == (0, True, True)
    remarks = dispatchviz.load(tmp_path / "a.dvtrace").header.remarks
    assert [remark.partition(": ")[0] + ": " for remark in remarks] == [NEW, FORKED]
    assert all(f"note: {remark}" in ended.out.splitlines() for remark in remarks)


@pytest.mark.parametrize("saved", [False, True])
def test_record_reports_a_new_python(saved: bool, tmp_path: Path) -> None:
    with dispatchviz.record(save=tmp_path / "a.dvtrace" if saved else None) as trace:
        torch.ones(2)
        new_python()
        so_far = trace.notices
        torch.ones(2)
    (sentence,) = trace.header.remarks
    assert so_far == trace.notices == (sentence,)
    step = int(sentence.removeprefix("a new Python process was not recorded: it began before step "))
    assert 0 < step < len(trace)
    if saved:
        assert dispatchviz.load(tmp_path / "a.dvtrace").notices == (sentence,)
    new_python()
    assert trace.notices == (sentence,)


@pytest.mark.torch
def test_record_reports_a_new_python_beside_an_installed_pytorch() -> None:
    import torch as installed

    with dispatchviz.record(engine="torch") as trace:
        installed.ones(2)
        new_python()
    assert trace.header.remarks[0].startswith("a new Python process was not recorded: ")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_record_reports_a_fork_and_leaves_the_child_alone() -> None:
    with dispatchviz.record() as trace:
        child = os.fork()
        if not child:
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert trace.header.remarks == (f"{FORKED}it began before step 0",)


def test_cell_reports_a_new_python() -> None:
    text = f"import subprocess\nsubprocess.run([{sys.executable!r}, '-S', '-c', 'pass'])\n"
    trace = run_cell(Cell(text, "<cell 1>", "Cell In[1]"), {}, MODEL).trace
    assert trace.header.remarks[0].startswith("a new Python process was not recorded: ")


def test_one_place_joins_what_the_head_says() -> None:
    assert with_remarks("a", "b", notice="c").notices == ("a", "b", "c")
    assert with_remarks("a", notice="a").notices == ("a",)
    assert with_remarks().notices == ()


def test_every_head_has_each_sentence() -> None:
    trace = with_remarks("one was not recorded", notice="the file is cut off")
    page = player_data(trace)
    heads = {
        "log": "\n".join(text_log(trace)),
        "hand-out": "\n".join(StepsPage(trace, range(len(trace)), LogFilter("lines")).lines()),
        "card": trace_html(trace),
        "card as text": trace_markdown(trace),
        "stepper": "\n".join(row.plain for row in header_rows(Cursor(trace, 0), 80)),
        "page": "\n".join(page["notices"]),  # type: ignore[arg-type]
        "Perfetto": b"".join(perfetto_chunks(trace)).decode(),
    }
    missing = {name: text for name, head in heads.items() for text in trace.notices if text not in head}
    assert not missing


def test_the_stepper_keeps_its_rows_where_a_file_has_many_remarks() -> None:
    trace = with_remarks(*map(str, range(1000)))
    assert len(header_rows(Cursor(trace, 0), 80)) - len(header_rows(Cursor(small(), 0), 80)) == MOST_NOTICES
