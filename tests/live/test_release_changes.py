"""What another release registers otherwise than the model's is said of the operators and keys that are asked for."""

from __future__ import annotations

import msgspec

from dispatchviz.live.release_changes import of_the_model, release_changes
from dispatchviz.live.snapshot import Operator, Snapshot
from tests.live.snapshots import kernels

NAMES = "aten::mm", "aten::relu", "aten::sin", "aten::new"


def later() -> Snapshot:
    """A release that registers as the model's does, but for what a test changes."""
    ours = of_the_model(NAMES, "CPU")
    return msgspec.structs.replace(ours, torch="2.14.1+cpu")


def said(installed: Snapshot, keys: tuple[str, ...] = ("CPU", "AutogradCPU")) -> list[str]:
    return list(release_changes(installed, NAMES, keys))


def with_operator(installed: Snapshot, one: Operator) -> Snapshot:
    others = (each for each in installed.operators if each.name != one.name)
    return msgspec.structs.replace(installed, operators=(*others, one))


def test_two_releases_that_register_alike_explain_nothing() -> None:
    assert said(later()) == []


def test_an_operator_that_one_release_has_is_named() -> None:
    new = Operator("aten::new", "aten::new(Tensor self) -> Tensor", "a.cpp:1", ())
    assert said(with_operator(later(), new)) == ["PyTorch 2.14.1 has aten::new, and PyTorch 2.13.0 does not"]
    fewer = tuple(one for one in later().operators if one.name != "aten::mm")
    gone = msgspec.structs.replace(later(), operators=fewer)
    assert said(gone) == ["PyTorch 2.13.0 has aten::mm, and PyTorch 2.14.1 does not"]


def test_a_kernel_counts_only_under_a_key_that_is_called() -> None:
    sin = later().by_name["aten::sin"]
    on_cuda = msgspec.structs.replace(sin, kernels=(*kernels("CUDA boxed torch/_native/registry.py:1"), *sin.kernels))
    assert said(with_operator(later(), on_cuda)) == []
    others = tuple(one for one in sin.kernels if one.key != "CPU")
    on_cpu = msgspec.structs.replace(sin, kernels=(*kernels("CPU boxed torch/_native/registry.py:1"), *others))
    (sentence,) = said(with_operator(later(), on_cpu))
    assert sentence.startswith("PyTorch 2.14.1 registers aten::sin otherwise than PyTorch 2.13.0: ")
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
