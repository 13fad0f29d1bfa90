"""A few hundred damaged files, always the same ones. ``python -m tests.fuzzing`` reads 100,000."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dispatchviz.core.record.trace_file.event_lines import KINDS
from tests.fuzzing.cases import Cases
from tests.fuzzing.seeds import SMALL, seeds, some_seeds

FILES = 240
AT_ONCE = 40


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Cases:
    return Cases(tmp_path_factory.mktemp("damaged"), some_seeds(SMALL[:8]))


@pytest.mark.long
@pytest.mark.parametrize("begin", range(0, FILES, AT_ONCE))
@pytest.mark.filterwarnings("ignore")  # from the programs whose traces are damaged
def test_no_damaged_trace_raises(cases: Cases, begin: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")  # `open` prints the log
    outcomes = [cases.outcome(case) for case in range(begin, begin + AT_ONCE)]
    assert [f"case {outcome.case}: {outcome.error}" for outcome in outcomes if outcome.how == "raised"] == []
    assert len({outcome.how for outcome in outcomes}) > 1, "all opened, or none: nothing was damaged"


@pytest.mark.filterwarnings("ignore")
def test_the_seeds_have_every_kind_of_event() -> None:
    there = {json.loads(line)[0] for trace in seeds() for line in trace.splitlines() if line.startswith(b"[")}
    assert set(KINDS) - there == {"Unknown"}


def test_a_damage_is_the_same_each_time(tmp_path: Path) -> None:
    assert _files(tmp_path) == _files(tmp_path)


def _files(folder: Path) -> list[bytes]:
    from random import Random

    raw = b'{"format":2,"cuda":"","program":"x.py"}\n["Boxed",0,null,"aten::add",1]\n["Boxed",1,null,"aten::mul",2]\n'
    found = []
    for begin in range(20):
        with Cases(folder, [raw], begin).file(Random(begin)) as path:
            found.append(path.read_bytes() if path.is_file() and path.stat().st_size < 1 << 20 else b"")
    return found
