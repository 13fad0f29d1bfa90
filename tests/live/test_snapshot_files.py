"""Snapshots as files, and what is said of files that are none."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from dispatchviz.cli.snapshot_command import check_snapshot
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record.trace_file import looks_like_trace
from dispatchviz.core.table.dump import dump_state, dump_table
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.live.snapshot import SnapshotError, read_snapshot, snapshot_registry, snapshot_text, write_snapshot
from dispatchviz.live.snapshot_file import looks_like_snapshot

from .snapshots import OLD, changed


@pytest.mark.parametrize("name", ["pytorch.json", "pytorch.json.gz"])
def test_a_snapshot_is_read_as_it_was_written(name: str, tmp_path: Path) -> None:
    write_snapshot(OLD, tmp_path / name)
    assert read_snapshot(tmp_path / name) == OLD
    raw = (tmp_path / name).read_bytes()
    assert raw.startswith(b"\x1f\x8b") == name.endswith(".gz")
    assert looks_like_snapshot(raw)
    assert not looks_like_trace(raw)


def test_each_operator_has_a_line() -> None:
    lines = snapshot_text(OLD).splitlines()
    found = [json.loads(line.rstrip(",")) for line in lines if line.startswith('{"name"')]
    assert [one["name"] for one in found] == list(OLD.by_name)
    assert found[0]["kernels"][1] == ["Meta", "boxed", "torch/_meta_registrations.py:50"]
    assert json.loads(snapshot_text(OLD))["torch"] == "2.9.0+cpu"


def test_one_without_operators_is_one() -> None:
    assert json.loads(snapshot_text(changed(OLD, operators=())))["operators"] == []


def test_a_file_laid_out_by_another_tool_is_read(tmp_path: Path) -> None:
    path = tmp_path / "pytorch.json"
    path.write_text(json.dumps(json.loads(snapshot_text(OLD)), indent=2))
    assert read_snapshot(path) == OLD


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no snapshot"),
        (b'{"format":"dispatchviz trace"}', "is no snapshot"),
        (snapshot_text(OLD).encode()[:-40], "is a snapshot and is damaged"),
        (gzip.compress(snapshot_text(OLD).encode())[:-40], "is a snapshot and is damaged"),
        (b'{"dispatchviz_snapshot":1}', "is damaged: Object missing required field `torch`"),
        (b'{"dispatchviz_snapshot":2,"anything":[]}', "has version 2 of the format and this dispatchviz reads 1"),
    ],
)
def test_what_is_wrong_with_a_file(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(SnapshotError, match=message) as raised:
        read_snapshot(path)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match=r"cannot read .*nowhere\.json: No such file"):
        read_snapshot(tmp_path / "nowhere.json")


def test_only_a_snapshot_is_overwritten(tmp_path: Path) -> None:
    for name in ("new.json", "old.json"):
        check_snapshot(str(tmp_path / name))
        write_snapshot(OLD, tmp_path / "old.json")
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(DispatchvizError, match=r"other\.json is there and is no snapshot"):
        check_snapshot(str(tmp_path / "other.json"))
    with pytest.raises(DispatchvizError, match=r"its name ends in \.json or \.json\.gz"):
        check_snapshot(str(tmp_path / "pytorch.txt"))


def test_as_a_registry_it_has_the_tables_of_its_registrations() -> None:
    registry = snapshot_registry(OLD)
    assert dump_state(registry.find("aten::tril")).splitlines()[-1] == (
        "Autograd[alias]: registered at torch/csrc/autograd/generated/VariableType_1.cpp:31 "
        ":: (Tensor _0, int _1) -> Tensor _0 [ boxed unboxed ]"
    )
    rows = dump_table(registry.find("aten::ldexp")).splitlines()
    place = "registered at build/aten/src/ATen/RegisterCompositeImplicitAutograd_0.cpp:40"
    assert f"AutogradCPU: {place} [math kernel]" in rows
    assert not [row for row in rows if row.startswith("Functionalize")]


def test_an_alias_covers_what_it_covers_in_that_release() -> None:
    members = (*OLD.aliases["CompositeImplicitAutograd"], "Functionalize")
    registry = snapshot_registry(changed(OLD, aliases={**OLD.aliases, "CompositeImplicitAutograd": members}))
    assert registry.find("aten::ldexp").compute(DispatchKey.Functionalize).reason == "math kernel"
