"""The releases in which an entry changed."""

from __future__ import annotations

from itertools import pairwise

import pytest

from dispatchviz.explain.cells.releases.entry_history import entry_history
from dispatchviz.explain.cells.releases.release import all_releases
from dispatchviz.explain.cells.releases.release_names import operator_in_any
from dispatchviz.foundation.errors import DispatchvizError

GENERATED = "build/aten/src/ATen"


def sentences(operator: str, key: str) -> tuple[str, ...]:
    return entry_history(operator, key, "cuda").sentences


def test_a_changed_entry_has_both_contents() -> None:
    """``ldexp`` got a formula and kernels of its own in 2.11."""
    (sentence,) = sentences("aten::ldexp.Tensor", "AutogradCPU")
    assert sentence == (
        "Since 2.11, the entry holds the kernel for Autograd from torch/csrc/autograd/generated/VariableType.cpp; "
        "before, it held the kernel for CompositeImplicitAutograd from "
        f"{GENERATED}/RegisterCompositeImplicitAutograd.cpp."
    )


def test_an_entry_that_never_changed_has_one_sentence() -> None:
    assert sentences("aten::add.Tensor", "CPU") == (
        f"Unchanged from 2.6 to 2.14: the entry holds the kernel for CPU from {GENERATED}/RegisterCPU.cpp.",
    )


def test_new_and_removed_operators_are_changes() -> None:
    came = sentences("aten::linalg_matrix_sqrth", "CPU")
    assert came[0] == "aten::linalg_matrix_sqrth came in 2.14."
    assert came[1].startswith("Only 2.14 has it: ")
    gone = sentences("aten::qr", "CPU")
    assert gone[0].startswith("Unchanged from 2.6 to 2.13: ")
    assert gone[1] == "aten::qr was removed in 2.14."


def test_new_and_removed_keys_are_changes() -> None:
    assert sentences("aten::add.Tensor", "autogradmaia")[0] == "The key AutogradMAIA came in 2.8."
    named = sentences("aten::add.Tensor", "Named")
    assert named[0].startswith("Unchanged from 2.6 to 2.12: the entry holds a fallthrough for Named")
    assert named[1] == "The key Named was removed in 2.13."


def test_an_operator_may_be_older_than_the_key() -> None:
    operator, key, unchanged = sentences("aten::_dyn_quant_pack_4bit_weight", "AutogradMAIA")
    assert operator == "aten::_dyn_quant_pack_4bit_weight came in 2.7."
    assert key == "The key AutogradMAIA came in 2.8."
    assert unchanged.startswith("Unchanged from 2.8 to 2.14: ")


def test_nothing_comes_back_after_it_was_removed() -> None:
    """A history compares each release with the next one, so an operator that comes back would need more."""
    for has in (lambda release: release.text.lines, lambda release: release.keys):
        held = [frozenset(has(release)) for release in all_releases()]
        gone = frozenset[str]()
        for before, after in pairwise(held):
            gone |= before - after
            assert not gone & after


def test_a_kernel_in_another_file_has_moved() -> None:
    folder = "torch/csrc/distributed/c10d"
    (sentence,) = sentences("symm_mem::one_shot_all_reduce", "Meta")
    assert sentence == (
        f"Since 2.8, the kernel of the entry is registered in {folder}/symm_mem/SymmetricMemory.cpp; before, it was "
        f"registered in {folder}/SymmetricMemory.cpp."
    )


def test_a_file_that_old_releases_do_not_report_is_no_change() -> None:
    """Before 2.9, PyTorch prints /dev/null for kernels from Python."""
    assert sentences("aten::__ilshift__.Tensor", "Meta") == (
        "Unchanged from 2.6 to 2.14: the entry holds the kernel for Meta from torch/_meta_registrations.py.",
    )


def test_a_release_can_lack_the_key_of_an_error() -> None:
    with pytest.raises(DispatchvizError, match=r"PyTorch 2\.14 has no dispatch key 'CUDDA'; did you mean CUDA"):
        entry_history("aten::add.Tensor", "CUDDA", "cpu")
    with pytest.raises(DispatchvizError, match=r"Autograd is an alias: it covers 18 keys"):
        entry_history("aten::add.Tensor", "Autograd", "cpu")


def test_an_operator_of_any_release_is_found() -> None:
    assert operator_in_any("qr").name == "aten::qr"
    assert operator_in_any("add").name == "aten::add.Tensor"
    with pytest.raises(DispatchvizError, match=r"no release from 2\.6 to 2\.14 has an operator 'addd'"):
        operator_in_any("addd")
    with pytest.raises(DispatchvizError, match="aten::to has"):
        operator_in_any("to")
