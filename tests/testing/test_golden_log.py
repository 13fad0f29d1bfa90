"""Golden logs: their lines, and how they are compared, accepted, and read as patterns."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.testing import assert_golden, call
from dispatchviz.testing.golden_levels import LEVELS, GoldenLevel
from dispatchviz.testing.golden_log import SHOWN, Accepting, golden_rows
from dispatchviz.testing.log_lines import FORMS, pattern_of
from dispatchviz.testing.patterns import Pattern
from dispatchviz.testing.trace_part import part
from tests.explain.founding import founding

LOG = """\
call aten::add.Tensor AutogradCUDA
  kernel VariableType::add_Tensor under AutogradCUDA
  node AddBackward0
  node AccumulateGrad
  redispatch aten::add.Tensor CUDA
    kernel wrapper_CUDA_add_Tensor under CUDA
"""


@pytest.fixture
def accepting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Switch to writing golden logs; return the list of written files."""
    monkeypatch.setattr(Accepting, "on", True)
    monkeypatch.setattr(Accepting, "written", [])
    return Accepting.written


def _everything() -> Trace:
    with dispatchviz.record() as trace:
        x = torch.ones(2, requires_grad=True)
        y = x.exp()
        y.register_hook(lambda gradient: None)
        y.sum().backward()
        torch.autograd.grad((x * 2).sum(), x)
        with pytest.raises(RuntimeError):
            torch.ones(2) + torch.ones(3)
    return trace


def test_a_log_is_text_without_numbers(tmp_path: Path, accepting: list[str]) -> None:
    assert_golden(founding(), tmp_path / "add.log", within=call("aten::add.Tensor"))
    head, *lines = (tmp_path / "add.log").read_text("utf-8").splitlines(keepends=True)
    assert head.startswith("# written by `pytest --dispatchviz-accept`")
    assert "".join(lines) == LOG
    assert accepting == [str(tmp_path / "add.log")]


def test_two_recordings_have_one_log() -> None:
    """A log does not depend on earlier recordings: it has no address and no number of a step, a tensor or a Node."""
    logs = []
    for _ in range(2):
        trace = _everything()
        logs.append([row for row, _ in golden_rows(trace, 0, len(trace))])
    assert logs[0] == logs[1]
    assert not [row for row in logs[0] if re.search(r"0x|\bt\d+\b|\bn\d+\b", row)]


def test_every_line_is_the_pattern_of_its_event() -> None:
    trace = _everything()
    rows = list(golden_rows(trace, 0, len(trace)))
    assert {row.split()[0] for row, _ in rows} == set(FORMS)
    for row, step in rows:
        pattern, _ = pattern_of(row)
        assert pattern.matches(trace[step]), row


def test_accepted_log_passes(tmp_path: Path, accepting: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    trace = _everything()
    assert_golden(trace, tmp_path / "new" / "all.log")
    assert_golden(trace, tmp_path / "new" / "all.log")
    assert len(accepting) == 1, "what is the same is not written again"
    monkeypatch.setattr(Accepting, "on", False)
    assert_golden(trace, tmp_path / "new" / "all.log")


def test_comments_and_empty_lines_of_a_person_hold_and_stay(tmp_path: Path, accepting: list[str]) -> None:
    path = tmp_path / "add.log"
    written = "# the sum\n\n" + LOG.replace("  redispatch", "\n  # below autograd\n  redispatch")
    path.write_text(written, "utf-8")
    for Accepting.on in (False, True):
        assert_golden(founding(), path, within=call("aten::add.Tensor"))
    assert path.read_text("utf-8") == written
    assert not accepting


@pytest.mark.parametrize("content", [b"print('mine')\n", b"\x89PNG\r\n"], ids=["program", "picture"])
def test_another_file_is_never_overwritten(content: bytes, tmp_path: Path, accepting: list[str]) -> None:
    path = tmp_path / "mine"
    path.write_bytes(content)
    with pytest.raises(AssertionError, match="mine is not a golden log"):
        assert_golden(founding(), path, within=call("aten::add.Tensor"))
    assert path.read_bytes() == content
    assert not accepting


@pytest.mark.parametrize(("written", "place", "expected", "got"), [
    (LOG.replace("CUDA\n    kernel", "CPU\n    kernel"), "at line 5", "add.Tensor CPU", "add.Tensor CUDA"),
    (LOG + "call aten::sum CPU\n", "at line 7", "call aten::sum CPU", "nothing more"),
    (LOG.rpartition("    kernel")[0], "after its end", "nothing more", "kernel wrapper_CUDA_add_Tensor under CUDA"),
    (LOG.replace("  node Acc", "node Acc"), "at line 4", "node AccumulateGrad", "node AccumulateGrad"),
], ids=["other key", "too short", "too long", "other place"])  # fmt: skip
def test_failure_shows_the_first_difference(written: str, place: str, expected: str, got: str, tmp_path: Path) -> None:
    (tmp_path / "add.log").write_text(written, "utf-8")
    with pytest.raises(AssertionError) as caught:
        assert_golden(founding(), tmp_path / "add.log", within=call("aten::add.Tensor"))
    first, wanted, came, *rest = str(caught.value).splitlines()
    assert first == f"add.log differs first {place}"
    assert wanted.startswith("  expected  ")
    assert wanted.endswith(expected)
    assert came.startswith("  got       ")
    assert came.endswith(got)
    assert rest[-1] == "  pytest --dispatchviz-accept accepts it"
    assert len(rest) <= SHOWN + 2


def test_missing_log_fails(tmp_path: Path) -> None:
    with pytest.raises(
        AssertionError, match=r"there is no golden log .*none.log\n  pytest --dispatchviz-accept writes"
    ):
        assert_golden(founding(), tmp_path / "none.log")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("line", "says"), [
    ("cal aten::add.Tensor", "no line begins with 'cal', did you mean call?"),
    ("xyz", "no line begins with 'xyz'; lines begin with call, redispatch, kernel"),
    ("call aten::add.Tensor CPU CUDA", r"call takes OPERATOR \[KEY\], not 'aten::add.Tensor CPU CUDA'"),
    ("backward now", "backward takes nothing, not 'now'"),
    ("kernel f below CPU", "write `under` before the key, not 'below'"),
])  # fmt: skip
def test_unknown_line_is_refused(line: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        pattern_of(line)


def test_words_of_a_line_may_be_left_out() -> None:
    trace = founding()
    for line in ("call ... AutogradCUDA", "call", "node", "run Add", "run AddBackward0", "kernel ... under CUDA"):
        pattern, _ = pattern_of(line)
        assert any(pattern.matches(event) for event in trace), line
        assert repr(pattern) == line


# -- levels ------------------------------------------------------------------------------------------------------------

OF_LIBRARY = {
    "calls": """\
call aten::ones BackendSelect
call golden::double AutogradCPU
call aten::detach AutogradCPU
call aten::linear AutogradCPU
call aten::sum AutogradCPU
  node SumBackward0
call aten::ones_like CPU
backward
  run SumBackward0
  run AccumulateGrad
""",
    "keys": """\
call golden::double AutogradCPU
  kernel autograd_fallback under AutogradCPU
  node WarnNotImplemented
  node AccumulateGrad
  redispatch golden::double CPU
    kernel <lambda> under CPU
""",
}
"""The log of ``_of_library`` at two levels, the second one within the library's operator."""


def _of_library() -> Trace:
    with torch.library._scoped_library("golden", "DEF") as library:
        library.define("double(Tensor x) -> Tensor")
        library.impl("double", lambda x: x * 2, "CPU")
        with dispatchviz.record() as trace:
            x = torch.ones(2, requires_grad=True)
            doubled = torch.ops.golden.double(x)
            str(doubled)
            torch.nn.functional.linear(doubled.detach(), x).sum().backward()
    return trace


def _log(trace: Trace, level: GoldenLevel, within: Pattern | None = None) -> str:
    begin, end = part(trace, within)
    return "".join(f"{row}\n" for row, _ in golden_rows(trace, begin, end, level))


def test_level_leaves_out_the_calls_of_pytorchs_own_kernels() -> None:
    trace = _of_library()
    assert _log(trace, "calls") == OF_LIBRARY["calls"]
    assert _log(trace, "keys", within=call("golden::double")) == OF_LIBRARY["keys"]
    calls, keys, everything = ([row.strip() for row in _log(trace, level).splitlines()] for level in LEVELS)
    assert not Counter(calls) - Counter(keys)
    assert not Counter(keys) - Counter(everything)


def test_file_has_its_level(tmp_path: Path, accepting: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    file, trace = tmp_path / "library.log", founding()
    assert_golden(trace, file, level="calls")
    assert file.read_text("utf-8").startswith(
        "# written by `pytest --dispatchviz-accept` at level calls on the model: "
    )
    monkeypatch.setattr(Accepting, "on", False)
    assert_golden(trace, file, level="calls")
    with pytest.raises(AssertionError) as caught:
        assert_golden(trace, file, level="keys")
    assert str(caught.value).splitlines() == [
        "library.log was written at level calls, and the test compares it at level keys",
        "  pytest --dispatchviz-accept writes it at level keys",
    ]
    monkeypatch.setattr(Accepting, "on", True)
    assert_golden(trace, file, level="keys")
    assert accepting == [str(file)] * 2


def test_file_of_an_older_version_has_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, trace = tmp_path / "old.log", founding()
    head = "# written by `pytest --dispatchviz-accept`: calls, created Nodes, and the Nodes that the engine runs\n"
    file.write_text(head + _log(trace, "all"), "utf-8")
    assert_golden(trace, file)
    with pytest.raises(
        AssertionError, match=r"old\.log was written at level all, and the test compares it at level calls"
    ):
        assert_golden(trace, file, level="calls")
    monkeypatch.setattr(Accepting, "on", True)
    assert_golden(trace, file)
    assert file.read_text("utf-8").startswith(head)


def test_unknown_level_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no level 'lines' of a golden log; there are calls, keys, all"):
        assert_golden(founding(), tmp_path / "any.log", level="lines")  # type: ignore[arg-type]
