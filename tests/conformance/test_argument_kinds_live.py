"""The arguments that a parameter accepts, and the errors for others: 150 calls with 90 kinds, on both sides."""

from __future__ import annotations

import re

import pytest

import dispatchviz.torch as model_torch
from tests.conformance.argument_kinds import CALLS, answer, kinds

torch = pytest.importorskip("torch")

KNOWN = (
    ("", "accelerator", "the model has a GPU"),
    (
        "",
        "not supported between|has no len|not iterable|unsupported operand|int.. argument must",
        "Python names a class",
    ),
    (
        "",
        "^RuntimeError: value cannot be converted to type int64_t",
        "sizes beyond 64 bits: NumPy cannot hold the array",
    ),
    ("local_response_norm|x.::v.|T.range", "Maximum allowed|Storage size calculation|allocate|narrow", "the same"),
    (r"mul\(", "9.223e.18", "the model has no uint64"),
    ("tensor.v.", "no dtype torch.uint64", "the model has no uint64"),
    (r"histogramdd", "", "PyTorch's torch.histogramdd is a name of an overload that the model does not have"),
    (r"T.Size", "int64|int32|uint8", "PyTorch keeps NumPy's integers as they are"),
    ("norm|clamp|std", "complex|Complex|nan|truth value", "no real number where a kernel wants one"),
    ("", "Index object", "an address"),
    ("", "Found no NVIDIA driver", "the machine has no GPU, and cuda is emulated"),
)
"""The call, the texts of PyTorch and of the model (regular expressions), and the reason."""


def is_known(call: str, real: str, model: str) -> bool:
    """Return whether a difference is allowed."""
    return any(re.search(where, call) and re.search(pattern, f"{real} | {model}") for where, pattern, _ in KNOWN)


@pytest.mark.parametrize("call", CALLS)
def test_arguments_are_accepted_alike(call: str) -> None:
    """The results are the same, and the errors have the same text."""
    differing = []
    for kind in kinds(torch):
        real, model = answer(torch, call, kind), answer(model_torch, call, kind)
        if real != model and not is_known(call, real, model):
            differing.append(f"{kind}\n    PyTorch {real}\n    here    {model}")
    assert not differing, "\n".join(differing)
