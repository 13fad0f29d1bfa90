"""Text for a terminal: the one rule for it, and everything that prints."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatchviz.cli import main
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.outline.levels import LEVELS
from dispatchviz.foundation.shown_text import BLANK, all_shown, quoted, shown, shown_json, shown_lines
from dispatchviz.foundation.terminal_output import complain, print_lines
from dispatchviz.outputs.log.format import log_lines
from dispatchviz.outputs.log.printed_log import print_log
from dispatchviz.outputs.picture.dot import drawing
from dispatchviz.outputs.picture.graph_picture import backward_graph
from dispatchviz.outputs.step.step_text import print_step, view_names
from dispatchviz.views.text.console import Console
from tests.amounts import some
from tests.explain.founding import founding
from tests.explain.test_every_kind import KINDS, with_one_of
from tests.hostile_texts import COMMANDS, HOSTILE, READABLE, everywhere, raw
from tests.tui.screens import stepper
from tests.waiting import HANGS

PACKAGE = Path(__file__).parents[2] / "dispatchviz"

IN_NAMES = [text for text in HOSTILE if "\0" not in text and not any("\ud800" <= char < "\udc80" for char in text)]
"""The characters that a command line can contain."""

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def trace() -> Trace:
    """Return a small trace."""
    return founding()


def ended(capsys: Captured, *arguments: str) -> tuple[int, str]:
    """Return the status of a command, and everything that it writes."""
    status = main(arguments)
    written = capsys.readouterr()
    return status, written.out + written.err


# -- traces -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_the_log_of_a_trace_is_escaped(trace: Trace, text: str, capsys: Captured) -> None:
    hostile = everywhere(trace, text)
    for form in ("text", "torch"):
        lines = list(log_lines(hostile, form))
        assert not any(raw(line) or "\n" in line for line in lines)
        assert shown(text).strip()[:1] in "\n".join(lines)
    print_log(hostile)
    assert not raw(capsys.readouterr().out)


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_pictures_of_a_trace_are_escaped(trace: Trace, text: str) -> None:
    assert not raw(drawing(backward_graph(everywhere(trace, text))).source)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_kind_of_event_is_escaped(kind: type, capsys: Captured) -> None:
    hostile = everywhere(with_one_of(kind), "\x1b[2J\u202e\x85\u2028\u3164\r\x00")
    print_log(hostile, len(hostile) - 1)
    print_step(hostile, len(hostile) - 1)
    assert not raw(capsys.readouterr().out)


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_colored_output_contains_only_our_codes(
    trace: Trace, text: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The colored output without our color codes equals the plain one, so it contains no other codes."""
    hostile = everywhere(trace, text)

    def printed() -> str:
        print_log(hostile)
        for step in range(0, len(hostile), 9):
            print_step(hostile, step)
        return capsys.readouterr().out

    plain = printed()
    monkeypatch.setenv("FORCE_COLOR", "1")
    colored = printed()
    assert "\x1b[1m" in colored
    assert re.sub(r"\x1b\[[0-9;]+m", "", colored) == plain
    assert not raw(plain)


@pytest.mark.parametrize("text", some(HOSTILE, 3), ids=ascii)
def test_commands_on_a_trace_escape_their_output(trace: Trace, text: str, tmp_path: Path, capsys: Captured) -> None:
    file = str(tmp_path / "hostile.jsonl")
    everywhere(trace, text).save(file)
    for command in (
        ("open", "--plain", file),
        ("open", "--plain", "--step", "10", file),
        ("open", "--step", "1000000", file),
        *(("open", "--step", str(step), "--view", name, file) for step in (1, 10, 20) for name in view_names()),
        *(("open", "--level", level.name, file) for level in LEVELS),
        ("run", "--line", "6", file),
        ("trace", "--op", text, file),
        ("trace", "--line", f"{text}:3", file),
        ("run", "--plain", file),
        ("trace", file),
        ("trace", "--format", "torch", file),
        ("trace", "--format", "jsonl", file),
        ("export", "-o", "-", "--format", "dot", file),
        ("export", "-o", "-", "--format", "jsonl", file),
    ):
        status, written = ended(capsys, *command)
        assert status == (2 if {"1000000", "--op", f"{text}:3"}.intersection(command) else 0)
        assert not raw(written), command


def test_a_trace_on_standard_output_is_read_back_as_it_was(trace: Trace, tmp_path: Path, capsys: Captured) -> None:
    file, again = tmp_path / "hostile.jsonl", tmp_path / "again.jsonl"
    everywhere(trace, "".join(HOSTILE)).save(file)
    again.write_text(ended(capsys, "export", "-o", "-", "--format", "jsonl", str(file))[1], encoding="utf-8")
    assert Trace.load(again).header == Trace.load(file).header
    assert Trace.load(again)[:] == Trace.load(file)[:]


def test_a_log_in_a_file_is_escaped(trace: Trace, tmp_path: Path) -> None:
    file, log = tmp_path / "hostile.jsonl", tmp_path / "hostile.log"
    everywhere(trace, "".join(HOSTILE)).save(file)
    assert main(["trace", "-o", str(log), str(file)]) == 0
    assert not raw(log.read_text("utf-8"))


@pytest.mark.long
@pytest.mark.parametrize("begin", range(0, len(HOSTILE), 8))
async def test_every_pane_of_the_stepper_is_escaped(trace: Trace, begin: int) -> None:
    hostile = everywhere(trace, "".join(HOSTILE[begin : begin + 8]))
    async with stepper(hostile, (120, 40)) as reader:
        for step in range(0, len(hostile), 6):
            await reader.press("colon", *str(step), "enter")
            assert not raw(reader.text)
        await reader.press("w")
        assert not raw(reader.text)


# -- command lines ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", IN_NAMES, ids=ascii)
def test_errors_about_typed_text_are_escaped(text: str, tmp_path: Path, capsys: Captured) -> None:
    message = tmp_path / "message.txt"
    message.write_text(
        f"Could not run 'aten::{text}' with arguments from the '{text}' backend.", "utf-8", "surrogatepass"
    )
    for command in (
        (text,),
        (f"--{text}",),
        ("run", f"{text}.py"),
        ("run", f"--{text}"),
        ("open", f"/{text}/x.jsonl"),
        ("trace", "--format", text, "a.py"),
        ("trace", "-o", f"/{text}/x", "a.py"),
        ("run", "--save", f"x{text}", "a.py"),
        ("run", "--view", text, "a.py"),
        ("run", "-m", text),
        ("trace", "-c", f"{text}'"),
        ("help", text),
        ("export", "-o", f"x{text}", "a.py"),
        ("export", "-o", "x.svg", "a.py", text),
        ("table", text),
        ("table", "add", text),
        ("why", "add", text),
        ("why", text, "CPU"),
        ("why", "--error", str(message)),
        ("why", "--error", f"/{text}"),
        ("keys", text),
        ("codegen", text),
        ("codegen", "--build", text, "add"),
        ("doctor", text),
    ):
        _, written = ended(capsys, *command)
        assert not raw(written), command


@pytest.mark.long
@pytest.mark.parametrize("text", ["\x1b[2J", "\x9b2J\u2028", "\r\n"], ids=ascii)
def test_a_hostile_file_name_and_error_message_are_escaped(text: str, tmp_path: Path) -> None:
    program = tmp_path / f"p{text}.py"
    program.write_text(f"import torch, sys\nprint(sys.argv[1])\ntorch.ones(2)\nraise ValueError({text!r})\n")
    log = tmp_path / "log"
    for command in (["run", "--plain"], ["trace", "-o", str(log)]):
        done = _dispatchviz(*command, str(program), text)
        assert done.returncode == 1
        assert not raw(done.stderr.rpartition(b"dispatchviz: ")[2].decode())
        assert b"ValueError" in done.stderr
        if command[0] == "run":
            assert not raw(done.stdout.decode())
    assert done.stdout == os.fsencode(f"{text}\n"), "what the program prints is its own"
    assert not raw(log.read_text("utf-8"))


def _dispatchviz(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "dispatchviz", *arguments]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8:surrogateescape"}
    return subprocess.run(command, capture_output=True, timeout=HANGS, check=False, env=environment)


@pytest.mark.parametrize("text", IN_NAMES, ids=ascii)
def test_a_copied_command_line_means_the_same_to_a_shell(text: str) -> None:
    assert not raw(quoted(text))
    printed = subprocess.run(["bash", "-c", f"printf %s {quoted(text)}"], capture_output=True, check=True).stdout
    assert printed == os.fsencode(text)


# -- the exits of text ------------------------------------------------------------------------------------------------


def test_color_codes_of_a_text_are_escaped(capsys: Captured) -> None:
    console = Console(80, colors=True)
    console.print([console.styled("\x1b[31m", "red") + " \x1b[2J", *console.wrapped("\x1b[31m a\nb")])
    assert capsys.readouterr().out == "\x1b[31m\\x1b[31m\x1b[0m \\x1b[2J\n  \\x1b[31m a b\n"


def test_plain_output_contains_no_codes(capsys: Captured) -> None:
    Console(80, colors=False).print(["\x1b[31m"])
    assert capsys.readouterr().out == "\\x1b[31m\n"


def test_an_error_is_printed_on_one_line(capsys: Captured) -> None:
    complain("there is no\n  a\tb\r\x1b[2J  here")
    assert capsys.readouterr().err == "dispatchviz: there is no a\\tb\\r\\x1b[2J here\n"


def test_a_character_outside_the_encoding_is_escaped() -> None:
    binary = io.BytesIO()
    stream = io.TextIOWrapper(binary, "ascii")
    print_lines(["a → b", "\x1b"], stream)
    assert binary.getvalue() == b"a \\u2192 b\n\\x1b\n"


THEIR_OWN = {
    "cli/followed_run.py": "what the program has printed, when its stepper is closed",
    "running/process/program_end.py": "how a program ends, as Python would print it",
    "outputs/picture/graphviz_wasm.py": "a picture, to the process that asked for it",
    "core/thread/warning.py": "a warning of the program's, as PyTorch prints it",
    "core/codegen/": "the generator, which only developers call",
    "torch/": "what the program calls to have printed",
    "foundation/terminal_output.py": "the place",
    "outputs/written_files.py": "bytes of pictures and of packed traces",
}
"""Modules that write to the standard streams themselves -> what they write."""


WRITES = re.compile(r"print|click\.s?echo|sys\.std\w+(\.buffer)?\.writ\w+")


def _writes(path: Path) -> Iterator[str]:
    text = path.read_text("utf-8")
    if WRITES.search(text):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and WRITES.fullmatch(ast.unparse(node.func)):
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}"


def test_unlisted_modules_never_write_to_the_standard_streams() -> None:
    found = [place for path in PACKAGE.rglob("*.py") for place in _writes(path)]
    assert [place for place in found if not place.startswith(tuple(THEIR_OWN))] == []
    assert all(
        any(place.startswith(known) for place in found)
        for known in THEIR_OWN
        if not known.endswith("terminal_output.py")
    )


def _makes(path: Path, name: str) -> bool:
    calls = (
        node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call) and node.args
    )
    return any(isinstance(called, ast.Name) and called.id == name for called in calls)


def test_all_text_of_the_stepper_is_made_by_one_function() -> None:
    modules = [path for part in ("tui", "views") for path in sorted((PACKAGE / part).rglob("*.py"))]
    assert [path.name for path in modules if _makes(path, "Line")] == ["styled_line.py"]
    assert [path.name for path in modules if _makes(path, "Segment")] == ["palette.py"]


@pytest.mark.long
@pytest.mark.parametrize("plane", range(17))
def test_the_category_of_a_character_decides(plane: int) -> None:
    chars = [chr(code) for code in range(plane << 16, (plane + 1) << 16)]
    commands = {char for char in chars if unicodedata.category(char) in COMMANDS or char in BLANK}
    sent = [char.encode("unicode_escape").decode() if char in commands else char for char in chars]
    assert shown("".join(chars)) == "".join(sent)
    assert commands.isdisjoint(shown_json("".join(chars)))


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_no_hostile_text_is_sent(text: str) -> None:
    assert not raw(shown(text))
    assert "\n" not in shown(text)
    assert "\\" in shown(text)


@pytest.mark.parametrize("text", READABLE)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert shown(text) == text


def test_there_are_enough_texts() -> None:
    assert len(set(HOSTILE)) >= 41
    assert set(COMMANDS) <= {unicodedata.category(char) for text in HOSTILE for char in text}


def test_a_joiner_is_sent_within_an_emoji_only() -> None:
    assert shown("👩\u200d🚀") == "👩\u200d🚀"
    assert shown("a\u200d🚀") == "a\\u200d🚀"
    assert shown("🚀\u200da") == "🚀\\u200da"
    assert shown("\u200d") == "\\u200d"
    assert shown("🚀\u200d\u200d🚀") == "🚀\\u200d\\u200d🚀"


def test_line_ends_are_kept() -> None:
    assert shown_lines("a\nb\x1b\rc\n") == "a\nb\\x1b\\rc\n"


@given(st.text(st.characters(codec=None, exclude_characters="\\")))
def test_escaped_text_can_be_read_back(text: str) -> None:
    escaped = shown(text).encode("latin-1", "backslashreplace").decode("unicode_escape")
    assert escaped.encode("utf-16", "surrogatepass") == text.encode("utf-16", "surrogatepass")


@given(st.text())
def test_json_is_read_back_as_it_was(text: str) -> None:
    assert json.loads(shown_json(json.dumps(text, ensure_ascii=False))) == text


@given(st.lists(st.text(st.sampled_from("ab→\x1b\u115f\U000e0100🙂"))))
def test_many_lines_are_checked_at_once(lines: list[str]) -> None:
    assert all_shown(lines) == all(shown(line) == line for line in lines)
