"""The list of what a release of PyTorch changed in what we have."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from dispatchviz.live.registration import Registration
from dispatchviz.live.release_changes import snapshot_of_model
from dispatchviz.live.snapshot import Operator, Snapshot
from dispatchviz.live.snapshot_difference import difference
from truth import follow, records
from truth.following import Left, keys, python_sources, registrations, sentences, stored_answers, texts, yaml_entries
from truth.formats.mirrored_files import PACKAGE, mirrored_files
from truth.recorders.source_digests import of_python, of_yaml


def names(left: Iterable[Left]) -> dict[str, list[str]]:
    """The names by what the release changed."""
    return {one.what: one.names for one in left}


# -- subjects ---------------------------------------------------------------------------------------------------------


def test_keys_are_compared_by_number() -> None:
    assert names(keys.changed(["CPU", "FPGA", "XPU", "Meta"], ["CPU", "XPU", "New", "Meta"])) == {
        "keys added": ["New"],
        "keys removed": ["FPGA"],
        "keys with another number": ["XPU"],
    }


def two_snapshots() -> tuple[Snapshot, Snapshot]:
    """Two operators of the model, and the same two in a later release."""
    model = snapshot_of_model(["aten::add.Tensor", "aten::t"], "CPU")
    add = model.by_name["aten::add.Tensor"]
    kernels = tuple(row for row in add.kernels if row.key != "ZeroTensor")
    kernels = (*kernels, Registration("QuantizedCUDA", "unboxed", "aten/src/ATen/native/cudnn/New.cpp:1"))
    later = Operator("aten::new", "aten::new(Tensor self) -> Tensor", "", ())
    add = msgspec.structs.replace(add, schema=add.schema.replace("other", "others"), kernels=kernels)
    return model, msgspec.structs.replace(model, operators=(add, later))


def test_registrations_of_a_later_release_are_listed() -> None:
    found = names(registrations.changed(difference(*two_snapshots(), everything=True)))
    assert found.pop("schemas that differ") == ["aten::add.Tensor: Tensor others, not Tensor other"]
    assert found == {
        "operators added": ["aten::new"],
        "operators removed": ["aten::t"],
        "kernels: new": ["aten::add.Tensor (QuantizedCUDA)"],
        "kernels: gone": ["aten::add.Tensor (ZeroTensor)"],
    }
    model, _ = two_snapshots()
    assert names(registrations.changed(difference(model, model))) == {}


def test_new_files_are_listed_with_their_build() -> None:
    assert names(registrations.new_files(*two_snapshots())) == {
        "files that are new": ["aten/src/ATen/native/cudnn/New.cpp: CUDA build"]
    }


FUNCTIONS = """
- func: neg(Tensor self) -> Tensor
  dispatch:
    CPU, CUDA: neg
- func: qr(Tensor self) -> Tensor
"""


def test_entries_that_we_have_are_compared_field_by_field() -> None:
    before = of_yaml(FUNCTIONS, "func")
    later = FUNCTIONS.replace("CPU, CUDA: neg", "CPU: neg_cpu\n    CUDA, MPS: neg").partition("- func: qr")[0]
    after = of_yaml(later, "func")
    assert yaml_entries.gone(before, after, before) == {"qr"}
    assert yaml_entries.gone(before, after, ["neg"]) == set()
    assert [*yaml_entries.changed(before, after, before)] == ["neg (dispatch CPU)"]
    assert [*yaml_entries.changed(before, before, before)] == []


MODULE = '''
def step(a: int) -> int:
    """Text."""
    return a

class SGD:
    rate = 1
    def step(self): pass
    def gone(self): pass
'''


def test_functions_are_compared_without_docstrings_and_annotations() -> None:
    before = of_python(MODULE)
    assert [*before] == ["step", "SGD.step", "SGD.gone", "SGD", ""]
    assert of_python(MODULE.replace("Text.", "Other.").replace(": int", "")) == before
    after = of_python(MODULE.replace("pass", "self.x = 0", 1).replace("rate = 1", "rate = 2").replace("gone", "came"))
    known = {"step", "SGD", "gone"}
    assert python_sources.changed(before, after, known) == (["SGD.step", "SGD.gone (removed)", "SGD"], 1)
    assert python_sources.changed(before, before, known) == ([], 0)


def test_answers_that_differ_are_named_and_the_release_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_answers, "ASK", """print('["torch", "texts: cuda factory"]')""")
    assert stored_answers.differences("missing_kernels") == ["texts: cuda factory"]
    monkeypatch.setattr(stored_answers, "ASK", "raise ValueError('no gdb')")
    assert stored_answers.differences("missing_kernels") == ["the recorder fails: ValueError: no gdb"]


def test_failed_tests_are_listed_by_file() -> None:
    printed = "FAILED tests/a/test_b.py::test_c[d-1] - assert 1\nERROR tests/a/test_e.py\n1 failed, 2 passed"
    assert sentences.failures(printed) == {"tests/a/test_b.py": ["test_c[d-1]"], "tests/a/test_e.py": [""]}


def test_files_that_name_a_release_are_listed(tmp_path: Path) -> None:
    for name, text in (("a.md", "PyTorch 2.13, 2.13.0"), ("b.md", "0.2.13 and 2.130"), ("c.png", "2.13")):
        (tmp_path / name).write_text(text)
    assert [*texts.naming("2.13", sorted(tmp_path.iterdir()))] == ["a.md (2)"]


# -- mirrored files ---------------------------------------------------------------------------------------------------


def test_modules_mirror_the_files_that_they_name() -> None:
    found = {name: [path.name for path in paths] for name, paths in mirrored_files().items()}
    assert "sgd.py" in found["torch/optim/sgd.py"]
    assert {"losses.py", "pooling.py"} <= {*found["torch/nn/functional.py"]}
    assert "adam.py" not in found["torch/optim/__init__.py"]


@pytest.mark.record("source_digests")
def test_every_recorded_file_is_still_mirrored() -> None:
    known = records.read("source_digests")["python"]
    assert known.keys() <= mirrored_files().keys()
    assert len(known) > 150
    assert [name for name, digests in known.items() if (PACKAGE / name).is_file() and not digests] == []


# -- the command ------------------------------------------------------------------------------------------------------


def test_another_release_than_the_installed_one_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for installed, message in (("2.14.1", "PyTorch 2.14.1 is installed for"), (None, "no PyTorch is installed for")):
        monkeypatch.setattr(follow, "installed", lambda installed=installed: installed)
        assert follow.main(["2.15.0"]) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert message in line


def test_unknown_subject_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        follow.main(["2.14.1", "schemes"])
    assert "no subject is called schemes. Subjects: keys, registrations" in capsys.readouterr().err


def test_each_subject_has_a_section_and_the_status_says_whether_something_is_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    left = {"keys": [], "yaml_entries": [Left("entries gone", ["qr", "cholesky"], "change the file")]}
    monkeypatch.setattr(follow, "installed", lambda: "2.15.0")
    monkeypatch.setattr(follow, "found", left.__getitem__)
    assert follow.main(["2.15.0", "keys", "yaml_entries"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "1. Dispatch keys: nothing left to do",
        "",
        "3. Entries and formulas in yaml that we have: 2",
        "   entries gone: 2",
        "      qr, cholesky",
        "      -> change the file",
        "",
        "2 left to do for PyTorch 2.15.0",
    ]
    assert follow.main(["2.15.0", "keys"]) == 0
