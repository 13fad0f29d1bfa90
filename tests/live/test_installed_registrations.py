"""The registrations of an installed PyTorch, and those that differ in another release."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import msgspec
import pytest

import dispatchviz
from dispatchviz.core.keys.keys import DispatchKey, parse_dispatch_key
from dispatchviz.core.table.dump import dump_state, dump_table
from dispatchviz.core.table.pytorch_registrations import pytorch_registry
from dispatchviz.live.installed_registrations import InstalledPyTorch
from dispatchviz.live.installed_torch import installed_torch, release
from dispatchviz.live.kernel_calls import hands_out_kernels
from dispatchviz.live.registration import UNKNOWN_FILE, is_generated
from dispatchviz.live.release_changes import release_changes, snapshot_of_model
from dispatchviz.live.snapshot import Operator, Snapshot
from tests.live.snapshots import kernels


def is_parsable(key: str) -> bool:
    """Return whether a key can be parsed. Some keys have no name, and older releases have fewer names."""
    with suppress(RuntimeError):
        installed_torch()._C._dispatch_key_parse(key)
        return bool(parse_dispatch_key(key))
    return False


def installed_release() -> tuple[int, int]:
    """Return the installed release. The model describes 2.14."""
    return release(installed_torch().__version__)


@pytest.fixture(scope="module")
def installed() -> InstalledPyTorch:
    """Return the installed PyTorch. It is read once, because tests that define operators remove them again."""
    return InstalledPyTorch()


@pytest.fixture
def library() -> Iterator[Any]:
    """Yield a fragment of the namespace ``dispatchviz_live``, which is removed after the test."""
    found = installed_torch().library.Library("dispatchviz_live", "FRAGMENT")
    yield found
    found._destroy()


def located(installed: InstalledPyTorch, dump: str) -> list[str]:
    """Return a dump's lines with our form of locations."""
    return [
        re.sub(r"registered at .*?(?= \[| :: |$)", lambda m: installed.location(m[0]), x) for x in dump.splitlines()
    ]


def differing(installed: InstalledPyTorch, name: str) -> set[str]:
    """Return the rows that only one of the two tables has, for keys that both 2.14 and this release have."""
    there = installed.torch._C._dispatch_dump_table(name)
    rows = set(dump_table(installed.registry().find(name)).splitlines()) ^ set(located(installed, there))
    keys = {"Undefined", *installed.keys} - installed.unknown_keys
    return {row for row in rows if row.partition(":")[0] in keys}


@pytest.mark.torch
def test_every_cell_of_every_table_is_the_builds_own(installed: InstalledPyTorch) -> None:
    """Kernel, reason and fallthrough agree for all operators."""
    assert len(installed.names()) > 3500
    assert {name: rows for name in installed.names() if (rows := differing(installed, name))} == {}


@pytest.mark.torch
def test_dumps_are_those_of_the_build(installed: InstalledPyTorch) -> None:
    """This includes the order of kernels, inactive ones, and which ones are boxed or unboxed. Another test may have
    imported a library that registers an operator with a type that PyTorch infers and cannot read.
    """
    for name in installed.names()[::7]:
        theirs = [
            re.sub(r" :: .* \[", " :: [", line.replace("PyObject", "Any"))
            for line in located(installed, installed.torch._C._dispatch_dump(name))
            if line.partition(":")[0] not in installed.unknown_keys
        ]
        ours = dump_state(installed.registry().find(name)).splitlines()
        assert [re.sub(r" :: .* \[", " :: [", line) for line in ours] == theirs


@pytest.mark.torch
def test_names_of_kernels_are_those_of_the_model(installed: InstalledPyTorch) -> None:
    kernels = installed.registrations("aten::add.Tensor")
    assert kernels[DispatchKey.Autograd][0].name == "VariableType::add_Tensor"
    assert [kernel.name for kernel in kernels[DispatchKey.Meta]][-1] == "wrapper_Meta_add_Tensor"


def generated_functions(installed: InstalledPyTorch) -> set[str]:
    """Return the names of the functions that torchgen wrote, from the symbols in PyTorch's libraries.

    A symbol has a name after its length: ``22wrapper_CPU_add_Tensor``. More digits may precede it.
    """
    found = set[str]()
    for library in (Path(installed.torch.__file__).parent / "lib").glob("libtorch_c*.so"):
        with library.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as symbols:
            for name in re.finditer(rb"wrapper_\w+", symbols):
                digits = re.search(rb"\d*$", symbols[name.start() - 3 : name.start()])
                assert digits is not None
                found.update(name[0][: int(digits[0][at:])].decode() for at in range(len(digits[0])))
    return found


@pytest.mark.torch
def test_generated_kernels_have_names_that_the_libraries_of_pytorch_have(installed: InstalledPyTorch) -> None:
    if not list((Path(installed.torch.__file__).parent / "lib").glob("libtorch_c*.so")):
        pytest.skip("PyTorch's libraries have another suffix on this system")
    registered = (kernels for name in installed.names() for kernels in installed.registrations(name).values())
    shown = {kernel.name for kernels in registered for kernel in kernels if kernel.name.startswith("wrapper_")}
    assert len(shown) > 4000
    assert shown - generated_functions(installed) == set()


@pytest.mark.torch
def test_fallbacks_are_those_that_the_build_says_it_has(installed: InstalledPyTorch) -> None:
    dispatcher = installed.torch._C
    nameable = [key for key in installed.keys if key in DispatchKey.__members__ and is_parsable(key)]
    theirs = {key for key in nameable if dispatcher._dispatch_has_backend_fallback(dispatcher._dispatch_key_parse(key))}
    assert len(theirs) > 25
    assert {row.key for row in installed.registered_fallbacks} & set(nameable) == theirs
    assert {key.name for key, _ in installed.fallbacks()} & set(nameable) == theirs
    if installed_release() == (2, 14):
        assert set(pytorch_registry().fallbacks) == set(dict(installed.fallbacks()))


@pytest.mark.torch
def test_an_operator_is_read_again_when_it_is_forgotten(installed: InstalledPyTorch, library: Any) -> None:
    registry = installed.registry()
    library.define("late(Tensor self) -> Tensor")
    assert registry.get("dispatchviz_live::late") is None

    installed.forget("dispatchviz_live::late")
    assert list(registry.find("dispatchviz_live::late").registrations) == []
    assert "dispatchviz_live::late" in installed.names()

    library.impl("late", lambda x: x, "CPU")
    assert list(registry.find("dispatchviz_live::late").registrations) == []
    installed.forget("dispatchviz_live::late")
    (kernel,) = registry.find("dispatchviz_live::late").registrations[DispatchKey.CPU]
    assert kernel.file.endswith(UNKNOWN_FILE if installed_release() < (2, 9) else "test_installed_registrations.py")
    assert kernel.boxed
    assert kernel.name == ""


@pytest.mark.torch
def test_registrations_that_were_read_do_not_change(library: Any) -> None:
    library.define("early(Tensor self) -> Tensor")
    read = InstalledPyTorch()
    assert list(read.registrations("dispatchviz_live::early")) == []
    library.impl("early", lambda x: x, "CPU")
    assert list(read.registrations("dispatchviz_live::early")) == []
    assert list(InstalledPyTorch().registrations("dispatchviz_live::early")) == [DispatchKey.CPU]


@pytest.mark.torch
def test_an_operator_that_is_gone_is_unknown(installed: InstalledPyTorch) -> None:
    library = installed.torch.library.Library("dispatchviz_live", "FRAGMENT")
    library.define("brief(Tensor self) -> Tensor")
    installed.forget("dispatchviz_live::brief")
    assert installed.registry().get("dispatchviz_live::brief") is not None
    library._destroy()
    installed.forget("dispatchviz_live::brief")
    assert installed.registry().get("dispatchviz_live::brief") is None
    with pytest.raises(KeyError, match="dispatchviz_live::brief"):
        installed.schema("dispatchviz_live::brief")


@pytest.mark.torch
def test_kernels_without_a_definition_are_no_operator(installed: InstalledPyTorch, library: Any) -> None:
    low_level = installed.torch._C._dispatch_library("IMPL", "dispatchviz_live", "CPU")
    low_level.impl_t_t("dangling", "")
    assert "dispatchviz_live::dangling" not in InstalledPyTorch().names()
    low_level.reset()


@pytest.mark.torch
def test_a_users_file_keeps_its_folder(installed: InstalledPyTorch) -> None:
    for place in ("registered at /home/me/torch/ops.py:3", "registered by RegisterOperators"):
        assert installed.location(place) == place


NAMES = "aten::mm", "aten::relu", "aten::sin", "aten::new"


def later() -> Snapshot:
    """Return a release that registers as the model's does, before a test changes it."""
    ours = snapshot_of_model(NAMES, "CPU")
    return msgspec.structs.replace(ours, torch="2.15.0+cpu")


def said(installed: Snapshot, keys: tuple[str, ...] = ("CPU", "AutogradCPU")) -> list[str]:
    return list(release_changes(installed, NAMES, keys))


def with_operator(installed: Snapshot, one: Operator) -> Snapshot:
    others = (each for each in installed.operators if each.name != one.name)
    return msgspec.structs.replace(installed, operators=(*others, one))


def test_two_releases_that_register_alike_explain_nothing() -> None:
    assert said(later()) == []


def test_an_operator_that_one_release_has_is_named() -> None:
    new = Operator("aten::new", "aten::new(Tensor self) -> Tensor", "a.cpp:1", ())
    assert said(with_operator(later(), new)) == ["PyTorch 2.15.0 has aten::new, and PyTorch 2.14.1 does not"]
    fewer = tuple(one for one in later().operators if one.name != "aten::mm")
    gone = msgspec.structs.replace(later(), operators=fewer)
    assert said(gone) == ["PyTorch 2.14.1 has aten::mm, and PyTorch 2.15.0 does not"]


def test_a_kernel_counts_only_under_a_key_that_is_called() -> None:
    sin = later().by_name["aten::sin"]
    on_cuda = msgspec.structs.replace(sin, kernels=(*kernels("CUDA boxed torch/_native/registry.py:1"), *sin.kernels))
    assert said(with_operator(later(), on_cuda)) == []
    others = tuple(one for one in sin.kernels if one.key != "CPU")
    on_cpu = msgspec.structs.replace(sin, kernels=(*kernels("CPU boxed torch/_native/registry.py:1"), *others))
    (sentence,) = said(with_operator(later(), on_cpu))
    assert sentence.startswith("PyTorch 2.15.0 registers aten::sin differently from PyTorch 2.14.1: ")
    assert "the kernel for CPU is boxed torch/_native/registry.py (before: unboxed " in sentence


def test_a_kernel_in_another_file_is_the_same_kernel() -> None:
    relu = later().by_name["aten::relu"]
    moved = tuple(msgspec.structs.replace(one, place="elsewhere.cpp:1") for one in relu.kernels)
    assert said(with_operator(later(), msgspec.structs.replace(relu, kernels=moved))) == []


def test_a_schema_that_differs_is_named() -> None:
    relu = later().by_name["aten::relu"]
    other = msgspec.structs.replace(relu, schema="aten::relu(Tensor self, bool fast=False) -> Tensor")
    (sentence,) = said(with_operator(later(), other))
    assert sentence.endswith("its schema differs")


@pytest.mark.torch
def test_registrations_read_during_a_recording_are_those_before() -> None:
    """Kernels of a recording are in no text that is read meanwhile."""
    if not hands_out_kernels(installed_torch()._C):
        pytest.skip("of releases before 2.9, all registrations are read before a recording begins")
    before = InstalledPyTorch()
    names = ["aten::add.Tensor", "aten::relu", "aten::_nnpack_available", "aten::to_sparse"]
    expected = {name: list(before.registered(name)) for name in names}
    with dispatchviz.record(engine="torch"):
        during = InstalledPyTorch()
        assert {name: list(during.registered(name)) for name in names} == expected


@pytest.mark.torch
def test_no_kernel_of_a_generated_file_is_a_fallthrough(installed: InstalledPyTorch) -> None:
    """``is_generated`` saves a question for each table entry."""
    rows = [row for name in installed.names() for row in installed.registered(name)]
    generated = [row for row in rows if is_generated(row.place)]
    assert len(generated) > len(rows) / 2
    assert {row.kind for row in generated} <= {"unboxed", "sym_unboxed", "boxed"}
