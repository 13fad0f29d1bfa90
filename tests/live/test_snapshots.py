"""Snapshots as files, and the differences between two of them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from dispatchviz.cli import main
from dispatchviz.cli.snapshot_command import check_snapshot
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record.trace_file import looks_like_trace
from dispatchviz.core.table.dump import dump_state, dump_table
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.live.snapshot import (
    Snapshot,
    SnapshotError,
    read_snapshot,
    snapshot_registry,
    snapshot_text,
    write_snapshot,
)
from dispatchviz.live.snapshot_difference import (
    AliasChange,
    CellChange,
    Difference,
    KernelChange,
    KeyMove,
    SchemaChange,
    difference,
)
from dispatchviz.live.snapshot_file import looks_like_snapshot
from dispatchviz.views.cards.difference_text import difference_lines, operator_lines
from dispatchviz.views.text.console import Console

from .snapshots import OLD, changed, kernels, operator, with_kernels


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
        (b"", "is not a snapshot"),
        (b'{"format":"dispatchviz trace"}', "is not a snapshot"),
        (snapshot_text(OLD).encode()[:-40], "is a damaged snapshot"),
        (gzip.compress(snapshot_text(OLD).encode())[:-40], "is a damaged snapshot"),
        (b'{"dispatchviz_snapshot":1}', "is a damaged snapshot: Object missing required field `torch`"),
        (b'{"dispatchviz_snapshot":2,"anything":[]}', "has version 2 of the format and this dispatchviz reads 1"),
    ],
)
def test_error_names_the_problem_of_a_file(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(SnapshotError, match=message) as raised:
        read_snapshot(path)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match=r"cannot read .*nowhere\.json: No such file"):
        read_snapshot(tmp_path / "nowhere.json")


def test_file_that_is_not_a_snapshot_is_not_overwritten(tmp_path: Path) -> None:
    for name in ("new.json", "old.json"):
        check_snapshot(str(tmp_path / name))
        write_snapshot(OLD, tmp_path / "old.json")
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(DispatchvizError, match=r"other\.json exists and is not a snapshot"):
        check_snapshot(str(tmp_path / "other.json"))
    with pytest.raises(DispatchvizError, match=r"its name must end in \.json or \.json\.gz"):
        check_snapshot(str(tmp_path / "pytorch.txt"))


def test_registry_has_the_tables_of_a_snapshots_registrations() -> None:
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


VARIABLE_TYPE = "unboxed torch/csrc/autograd/generated/VariableType.cpp"


def of(name: str, text: str) -> tuple[KernelChange, ...]:
    """Return the differences in an operator's registrations if it has these kernels instead."""
    found = difference(OLD, with_kernels(OLD, name, text)).operators.get(name)
    return found.kernels if found else ()


def text(found: Difference, every: bool = False) -> str:
    return "\n".join(difference_lines(found, Console(120, colors=False), every))


def test_a_snapshot_differs_in_nothing_from_itself() -> None:
    found = difference(OLD, OLD)
    assert found.same
    assert text(found).splitlines()[1:] == ["Both have the same registrations."]


def test_a_line_or_a_part_of_a_generated_file_is_no_difference() -> None:
    assert not of(
        "aten::tril",
        """
        CPU unboxed build/aten/src/ATen/RegisterCPU.cpp:99
        Autograd unboxed torch/csrc/autograd/generated/VariableType_4.cpp:1
        """,
    )


def test_registrations_that_are_new_gone_moved_or_of_another_kind() -> None:
    changes = of(
        "aten::tril",
        """
        CPU unboxed aten/src/ATen/native/Tril.cpp:11
        Meta boxed torch/_meta_registrations.py:1
        Autograd sym_unboxed torch/csrc/autograd/generated/VariableType_1.cpp:31
        """,
    )
    assert changes == (
        KernelChange("CPU", "unboxed build/aten/src/ATen/RegisterCPU.cpp", "unboxed aten/src/ATen/native/Tril.cpp"),
        KernelChange("Autograd", VARIABLE_TYPE, f"sym_{VARIABLE_TYPE}"),
        KernelChange("Meta", "", "boxed torch/_meta_registrations.py"),
    )
    assert [change.what for change in changes] == ["moved", "other kind", "new"]
    assert [change.what for change in of("aten::ldexp", "")] == ["gone"]
    boxed = "Autograd boxed torch/mine.py:1\nCPU unboxed build/aten/src/ATen/RegisterCPU_1.cpp:11"
    assert [change.what for change in of("aten::tril", boxed)] == ["replaced"]


def test_one_of_two_kernels_under_a_key_is_gone() -> None:
    rows = OLD.by_name["aten::add.Tensor"].kernels
    left = "\n".join(f"{row.key} {row.kind} {row.place}" for row in rows if row.kind != "boxed")
    assert of("aten::add.Tensor", left) == (KernelChange("Meta", "boxed torch/_meta_registrations.py", ""),)


def test_a_file_that_one_release_does_not_say_is_not_compared() -> None:
    rows = [f"{row.key} {row.kind} {row.place}" for row in OLD.by_name["aten::add.Tensor"].kernels]
    silent = [row.replace("torch/_meta_registrations.py:50", "/dev/null:241") for row in rows]
    other = with_kernels(OLD, "aten::add.Tensor", "\n".join(silent))
    for before, after in ((OLD, other), (other, OLD)):
        found = difference(before, after)
        assert (found.same, found.unsaid) == (True, 1)
        assert "The file of one kernel registered from Python is known for only one of the two" in text(found)


def test_new_operators_and_changed_schemas_are_found() -> None:
    new = operator("aten::tril(Tensor self, SymInt diagonal=0) -> Tensor")
    tril = changed(OLD, operators=(*OLD.operators[:2], new, operator("prims::sum.x(Tensor a) -> Tensor")))
    found = difference(OLD, tril)
    assert (found.added, found.removed) == (("prims::sum.x",), ("aten::ldexp",))
    assert found.operators["aten::tril"].schema == SchemaChange(("int diagonal=0",), ("SymInt diagonal=0",))
    assert "int diagonal=0 → SymInt diagonal=0: aten::tril" in text(found)
    assert "4 → 4: 1 new, 1 gone" in text(found)


@pytest.mark.parametrize(
    ("schema", "before", "after"),
    [
        ("aten::ldexp(Tensor other, Tensor self) -> Tensor", (), ()),
        ("aten::tril(Tensor self, int diagonal=0) -> (Tensor, Tensor)", ("-> Tensor",), ("-> (Tensor, Tensor)",)),
        ("aten::tril(Tensor self) -> Tensor", ("int diagonal=0",), ()),
    ],
)
def test_changed_arguments_of_a_schema_are_named(schema: str, before: tuple[str, ...], after: tuple[str, ...]) -> None:
    name = schema.partition("(")[0]
    operators = [operator(schema) if one.name == name else one for one in OLD.operators]
    found = difference(OLD, changed(OLD, operators=tuple(operators)))
    assert found.operators[name].schema == SchemaChange(before, after)
    assert "Schemas" in text(found)


def test_keys_that_are_new_gone_renamed_or_elsewhere() -> None:
    keys = (
        "CPU",
        "XPU",
        "Meta",
        "BackendSelect",
        "Fake",
        "Python",
        "AutogradCPU",
        "AutogradCUDA",
        "Tracer",
        "VmapMode",
    )
    aliases = {**OLD.aliases, "Autograd": ("AutogradCPU",)}
    found = difference(OLD, changed(OLD, keys=keys, aliases=aliases)).keys
    assert (found.added, found.removed, found.renamed) == (("VmapMode",), ("Named",), (("CUDA", "XPU"),))
    assert found.moved in ((KeyMove("Fake", "Python", "BackendSelect"),), (KeyMove("Python", "BackendSelect", "Fake"),))
    assert found.aliases == (AliasChange("Autograd", ("AutogradCUDA",), ()),)


def test_changed_fallbacks_are_found() -> None:
    found = difference(OLD, changed(OLD, fallbacks=kernels("Tracer fallthrough torch/csrc/autograd/TraceType.cpp:1")))
    assert [change.what for change in found.fallbacks] == ["gone", "new"]
    assert "new: Tracer  fallthrough torch/csrc/autograd/TraceType.cpp" in text(found)


def test_changed_cells_are_found() -> None:
    explicit = "build/aten/src/ATen/RegisterCompositeExplicitAutograd_0.cpp:1"
    found = difference(
        OLD,
        with_kernels(
            OLD, "aten::ldexp", f"CompositeExplicitAutograd unboxed {explicit}\nAutogradCPU fallthrough a.cpp:1"
        ),
    )
    assert found.operators["aten::ldexp"].cells == (
        CellChange("CPU", "math kernel", "default backend kernel"),
        CellChange("CUDA", "math kernel", "default backend kernel"),
        CellChange("AutogradCPU", "math kernel", "fallthrough kernel"),
        CellChange("AutogradCUDA", "math kernel", "missing"),
        CellChange("Meta", "math kernel", "default backend kernel"),
    )
    assert "1  CPU, CUDA, Meta  math kernel → default backend kernel: aten::ldexp" in text(found)


def with_cuda() -> Snapshot:
    """Return the same release, built for CUDA."""
    rows = [f"{row.key} {row.kind} {row.place}" for row in OLD.by_name["aten::tril"].kernels]
    cuda = with_kernels(OLD, "aten::tril", "\n".join([*rows, "CUDA unboxed build/aten/src/ATen/RegisterCUDA_0.cpp:1"]))
    return changed(cuda, torch="2.9.0+cu128", build="CUDA 12.8")


def test_backend_of_one_build_is_compared_on_request() -> None:
    found = difference(OLD, with_cuda())
    assert found.same
    assert found.left_out == ("CUDA", "AutogradCUDA")
    assert "Kernels for CUDA, which only one of the two builds has, are not compared" in text(found)
    assert [change.what for change in difference(OLD, with_cuda(), True).operators["aten::tril"].kernels] == ["new"]
    assert difference(with_cuda(), with_cuda()).left_out == ()


def test_equal_changes_of_several_operators_are_one_sentence() -> None:
    many = [operator(f"aten::op{n}(Tensor self) -> Tensor") for n in range(20)]
    place = "Meta boxed torch/_meta_registrations.py:1\nCPU boxed torch/_meta_registrations.py:1"
    more = [operator(f"aten::op{n}(Tensor self) -> Tensor", place) for n in range(20)]
    found = difference(changed(OLD, operators=tuple(many)), changed(OLD, operators=tuple(more)))
    row = "20  Meta, CPU  boxed torch/_meta_registrations.py: aten::op0, aten::op1, aten::op2, and 17 more"
    assert row in text(found)
    assert "aten::op19" not in text(found)
    assert "aten::op19" in text(found, every=True)


def test_difference_of_one_operator_is_printed_whole() -> None:
    after = with_kernels(OLD, "aten::ldexp", "Autograd unboxed torch/csrc/autograd/generated/VariableType_0.cpp:3")
    console = Console(120, colors=False)
    lines = list(operator_lines(["aten::ldexp"], OLD, after, difference(OLD, after), console))
    assert lines == [
        "PyTorch 2.9.0+cpu, CPU build, release → PyTorch 2.9.0+cpu, CPU build, release",
        "",
        "aten::ldexp",
        "  schema                     aten::ldexp(Tensor self, Tensor other) -> Tensor",
        "- CompositeImplicitAutograd  unboxed build/aten/src/ATen/RegisterCompositeImplicitAutograd.cpp",
        "+ Autograd                   unboxed torch/csrc/autograd/generated/VariableType.cpp",
        "  entries: CPU: math kernel → missing; CUDA: math kernel → missing; AutogradCPU: math kernel → autograd kernel;",  # noqa: E501
        "    AutogradCUDA: math kernel → autograd kernel; Meta: math kernel → backend fallback",
    ]


# -- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Return two snapshots that differ in ldexp."""
    paths = str(tmp_path / "a.json"), str(tmp_path / "b.json.gz")
    write_snapshot(OLD, paths[0])
    write_snapshot(with_kernels(OLD, "aten::ldexp", ""), paths[1])
    return paths


def test_diff_knows_snapshots_by_their_content(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *files]) == 1
    assert (
        "CompositeImplicitAutograd  unboxed RegisterCompositeImplicitAutograd.cpp: aten::ldexp"
        in capsys.readouterr().out
    )
    assert main(["diff", files[0], files[0]]) == 0


@pytest.mark.parametrize(
    ("operator", "names"),
    [
        ("ldexp", ["aten::ldexp"]),
        ("torch.add", ["aten::add.Tensor", "aten::add.Scalar"]),
        ("aten::add", ["aten::add.Tensor", "aten::add.Scalar"]),
        ("aten.add.Tensor", ["aten::add.Tensor"]),
        ("torch.ops.aten.add.Scalar", ["aten::add.Scalar"]),
        ("add.Scalar", ["aten::add.Scalar"]),
    ],
)
def test_one_operator_by_the_names_that_people_use(
    operator: str, names: list[str], files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", *files, "--op", operator]) == ("aten::ldexp" in names)
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line in OLD.by_name] == names


def test_json_has_the_differences(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *files, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["operators"]["aten::ldexp"]["kernels"] == [
        {
            "key": "CompositeImplicitAutograd",
            "before": "unboxed build/aten/src/ATen/RegisterCompositeImplicitAutograd.cpp",
            "after": "",
        }
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["A", "examples/forum.py"], "is a snapshot, but examples/forum.py is not"),
        (["A"], "diff compares two snapshots, A and B"),
        (["A", "B", "--op", "ldxep"], "neither snapshot has an operator ldxep, did you mean aten::ldexp?"),
        (["A", "B", "--what-if", "6: no_grad"], "two snapshots take only --all, --op and --json"),
        (["examples/forum.py", "examples/mlp.py", "--op", "add"], "--op goes with two snapshots"),
        (["examples/forum.py", "examples/mlp.py", "--json"], "--json goes with two snapshots"),
    ],
)
def test_conflicting_options_are_refused(
    arguments: list[str], message: str, files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    named = dict(zip("AB", files, strict=True))
    assert main(["diff", *(named.get(one, one) for one in arguments)]) == 2
    assert message in capsys.readouterr().err
