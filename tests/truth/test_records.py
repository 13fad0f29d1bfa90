"""Records, recorders, and the file of PyTorch's registrations."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dispatchviz.core.table.pytorch_registrations import PyTorch
from truth import record, records, show
from truth.formats.registrations_file import PATH, Row, read, text
from truth.observers.builds import only_in_cuda_builds
from truth.programs import EXPRESSIONS, PROGRAMS, SUBJECTS
from truth.recorders import key_layouts

TESTS = Path(__file__).parents[1]
WRITE_DATA_OF_THE_PACKAGE = {"native_files", "native_calls", "key_layouts"}


@pytest.mark.parametrize("subject", [pytest.param(s, marks=pytest.mark.record(f"programs/{s}")) for s in SUBJECTS])
def test_records_have_the_current_programs(subject: str) -> None:
    """Check that there is one record for each program, of its current source."""
    found = records.read_programs(f"programs/{subject}")
    assert {name: found[name]["source"] for name in found} == SUBJECTS[subject]


@pytest.mark.record("expressions")
def test_record_has_the_current_expressions() -> None:
    assert list(records.read("expressions")["expressions"]) == list(EXPRESSIONS)


def test_a_program_is_found_by_its_name() -> None:
    assert list(records.programs()) == list(PROGRAMS)
    assert records.programs()["forum_cpu"]["source"] == PROGRAMS["forum_cpu"]


def test_every_recorder_is_listed_and_every_record_has_one() -> None:
    modules = {path.stem for path in (records.HERE.parent / "recorders").glob("*.py")} - {"__init__"}
    files = {path.relative_to(records.HERE).parts[0].partition(".")[0] for path in records.HERE.rglob("*.*")}
    assert modules == set(record.RECORDERS)
    assert files - {"__init__", "__pycache__"} == (modules | {"python_keys_seen"}) - WRITE_DATA_OF_THE_PACKAGE
    assert PATH.is_file()
    assert key_layouts.TARGET.is_file()


READS = re.compile(r'records\.read(?:_programs)?\("(\w+)')
MARKS = re.compile(r'mark\.record\(f?"(\w+)')
SHARED = {"tests/chains.py", "tests/core/experiments.py", "tests/cupy_stand_in/recorded.py"}
"""Files that read a record for several tests, which are marked themselves.

The record of CuPy is not an expected answer.
"""


def test_files_that_read_a_record_have_its_mark() -> None:
    for path in TESTS.rglob("*.py"):
        test_file, text = f"tests/{path.relative_to(TESTS).as_posix()}", path.read_text(encoding="utf-8")
        if test_file not in SHARED and path != Path(__file__):
            read = {name.removesuffix("_seen") for name in READS.findall(text)}
            assert read <= set(MARKS.findall(text)), test_file


def test_marks_name_recorders() -> None:
    marked = {name for path in TESTS.rglob("*.py") for name in MARKS.findall(path.read_text(encoding="utf-8"))}
    assert marked <= set(record.RECORDERS)


# -- commands ---------------------------------------------------------------------------------------------------------


def test_list_names_the_requirements_of_each_record(capsys: pytest.CaptureFixture[str]) -> None:
    assert record.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0].partition("/")[0] for line in lines] == list(record.RECORDERS)
    assert next(line for line in lines if line.startswith("cupy")).count("CuPy, no GPU") == 1


def test_unknown_record_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        record.main(["programms/views"])
    assert "no record is called programms/views" in capsys.readouterr().err


def test_a_failing_test_prints_how_to_make_its_record_again(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("from tests.conftest import pytest_runtest_makereport")
    pytester.makeini('[pytest]\nmarkers = ["record(name)"]\n')
    pytester.makepyfile("""
        import pytest
        pytestmark = pytest.mark.record("programs/views")
        def test_wrong(): assert False
        def test_right(): pass
    """)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-W", "ignore")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*make the record again*", "python -m truth.record programs/views  *PyTorch 2.14*"])
    assert result.stdout.str().count("python -m truth.record") == 1


def test_record_is_written_only_if_it_differs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A difference is named; ``--check`` writes nothing."""
    path = tmp_path / "some.json"
    path.write_text('{"torch": "2.13.0", "answers": {"a": 1, "b": 2}}')
    text = '{"torch": "2.13.0", "answers": {"a": 1, "b": 3}}'
    monkeypatch.setattr(record, "_module", lambda name: type("", (), {"files": lambda part: [(path, text)]}))
    before = path.read_bytes()
    assert record.made("dtypes", check=True) == ["answers: b"]
    assert path.read_bytes() == before
    assert record.made("dtypes", check=False) == ["answers: b"]
    assert path.read_text() == text
    assert record.made("dtypes", check=True) == []


def test_lines_that_differ_in_a_text_are_named_by_their_first_word(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "some.txt"
    path.write_text("add one\nmul two\n")
    monkeypatch.setattr(
        record, "_module", lambda name: type("", (), {"files": lambda part: [(path, "add one\nmul 2\n")]})
    )
    assert record.made("native_files", check=True) == ["mul"]


def test_record_of_another_release_is_written_even_if_no_answer_differs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "some.txt"
    path.write_text("PyTorch 2.13.0\n\n")
    module = {"files": lambda part: [(path, "PyTorch 2.14.1\n\n")], "differences": lambda path, old, new: []}
    monkeypatch.setattr(record, "_module", lambda name: type("", (), module))
    assert record.made("programs", check=False) == ["torch"]
    assert path.read_text() == "PyTorch 2.14.1\n\n"
    assert record.made("programs", check=False) == []


def test_any_record_is_shown_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert show.main(["programs/forum", str(records.file("dispatch_tables")), "forum_cpu"]) == 0
    text = capsys.readouterr().out
    for part in ("## forum_cpu\n| import torch", '"digests": {', "========== forum_cpu =========="):
        assert part in text
    assert show.main([]) == 2


def test_registrations_file_is_written_as_it_was_read() -> None:
    assert text(read()) == PATH.read_text(encoding="utf-8")


def test_a_kernel_belongs_to_the_build_that_has_its_file() -> None:
    """PyTorch 2.13 was measured with both builds."""
    operators = read().operators
    wrong = [r for o in operators for r in (*o.rows, *o.cuda) if only_in_cuda_builds(r.debug) != (r in o.cuda)]
    assert wrong == []
    assert sum(len(operator.cuda) for operator in operators) > 1500


def test_package_reads_the_same_registrations() -> None:
    """Compare two readers of one format: the package's reads one operator at a time and creates kernels."""
    cpu, cuda = PyTorch("cpu"), PyTorch("cuda")
    for operator in read().operators:
        assert operator.schema == str(cpu.schema(operator.name))
        assert operator.location == cpu.debug(operator.name)
        assert rows(cpu, operator.name) == sorted(operator.rows)
        assert rows(cuda, operator.name) == sorted([*operator.rows, *operator.cuda])


def rows(stock: PyTorch, name: str) -> list[Row]:
    """The rows of an operator, sorted."""
    kernels = ((key.name, kernel) for key, found in stock.registrations(name).items() for kernel in found)
    return sorted(
        Row(key, k.debug, 1 + 2 * k.unboxed + 4 * k.fallthrough + 8 * bool(k.signature)) for key, k in kernels
    )


def test_registrations_file_is_smaller_than_1_mb() -> None:
    assert PATH.stat().st_size < 1_000_000
