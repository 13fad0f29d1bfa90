"""PyTorch's errors about missing kernels, as PyTorch 2.13 raises them (recorded) and as older releases did."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.explain.cells.pytorch_tables import pytorch
from dispatchviz.explain.errors.error_message import ErrorAnswer, explain
from dispatchviz.explain.errors.error_parser import find_message, read_message
from dispatchviz.foundation.errors import DispatchvizError
from truth import records

pytestmark = pytest.mark.record("missing_kernels")

RECORDED = records.read("missing_kernels")["texts"]
REGISTRY = pytorch("cpu")

MOBILE_1_12 = """
  WARN  Unhandled Promise Rejection: Could not run 'aten::empty_strided' with arguments from the 'CUDA' backend.
This could be because the operator doesn't exist for this backend. 'aten::empty_strided' is only available for these
backends: [Dense, Negative, UNKNOWN_TENSOR_TYPE_ID, UNKNOWN_TENSOR_TYPE_ID, SparseCPU].
CPU: registered at /project/build_ios/aten/src/ATen/RegisterCPU.cpp:37386 [kernel]
BackendSelect: registered at /project/build_ios/aten/src/ATen/RegisterBackendSelect.cpp:726 [kernel]
ADInplaceOrView: fallthrough registered at /project/aten/src/ATen/core/VariableFallbackKernel.cpp:64 [backend fallback]
"""
OLDEST = (
    "RuntimeError: Could not run 'aten::thnn_conv2d_forward' with arguments from the 'QuantizedCPUTensorId' backend. "
    "'aten::thnn_conv2d_forward' is only available for these backends: [CPUTensorId, VariableTensorId]."
)
EXTENSION = (
    "Could not run 'torchvision::nms' with arguments from the 'CUDA' backend. This could be because ... "
    "'torchvision::nms' is only available for these backends: [CPU, Meta, BackendSelect, AutogradCPU, AutogradCUDA]."
)


def answer(text: str) -> ErrorAnswer:
    message = find_message(text)
    assert message is not None
    return explain(message, REGISTRY)


def group(found: ErrorAnswer, title: str) -> tuple[str, ...]:
    return next(each.keys for each in found.groups if each.title == title)


def test_a_quantized_tensor() -> None:
    found = answer(RECORDED["quantized"])
    assert (found.kind, found.operator, found.key) == ("no kernel", "aten::exp.out", "QuantizedCPU")
    assert group(found, "Kernels of its own") == ("CPU", "Meta")
    assert "AutogradCPU" in group(found, "Autograd")
    assert "Python" in group(found, "Fallbacks")
    assert "BackendSelect" in group(found, "Skipped")
    assert "quantized tensor" in found.causes[0]
    assert "dequantize()" in found.todo[0]
    assert "holds no kernel either" in found.now


def test_every_line_of_the_list_is_in_one_group() -> None:
    message = find_message(RECORDED["quantized"])
    assert message is not None
    told = [key for each in explain(message, REGISTRY).groups for key in each.keys]
    assert sorted(told) == sorted(message.keys)
    assert len(message.lines) == len(message.keys)


@pytest.mark.parametrize(
    ("case", "kind", "operator", "says"),
    [
        ("cuda factory", "no kernel", "aten::empty.memory_format", "built without CUDA"),
        ("sparse", "no kernel", "aten::i0", "sparse (COO)"),
        ("meta", "meta", "recorded::on_cpu", "without computing it"),
        ("empty list", "no tensors", "recorded::of_list", "An empty list"),
        ("ambiguous", "ambiguous", "recorded::both", "an operator that has a composite"),
    ],
)
def test_the_others(case: str, kind: str, operator: str, says: str) -> None:
    found = answer(f"Traceback (most recent call last):\n  File 'x.py', line 3\n{RECORDED[case]}\nmore output\n")
    assert (found.kind, found.operator) == (kind, operator)
    assert says in found.causes[0]
    assert found.todo


def test_a_garbled_list_of_an_older_release() -> None:
    found = answer(MOBILE_1_12)
    assert "garbled" in found.groups[0].meaning
    assert group(found, "Kernels of its own") == ("CPU",)


def test_an_old_release_with_other_names() -> None:
    found = answer(OLDEST)
    assert "QuantizedCPUTensorId, a key up to 1.5, is called QuantizedCPU now." in found.happened
    assert "CPUTensorId" in group(found, "Kernels of its own")
    assert "quantized" in found.causes[0]


def test_an_extension_without_cuda() -> None:
    found = answer(EXTENSION)
    assert "the package of the namespace torchvision" in found.causes[0]
    assert "has no operator torchvision::nms" in found.now


def test_a_backend_kernel_switched_the_composite_off() -> None:
    text = "Could not run 'aten::to.dtype' with arguments from the 'AutogradPrivateUse1' backend."
    found = answer(text)
    assert "disables the operator's composite kernel" in found.causes[0]
    assert "aten::_to_copy" in found.todo[1]


def test_escaped_newlines_of_a_log() -> None:
    assert answer(RECORDED["quantized"].replace("\n", "\\n")).groups == answer(RECORDED["quantized"]).groups


def test_a_text_without_such_an_error(tmp_path: Path) -> None:
    assert find_message("ZeroDivisionError: division by zero") is None
    (tmp_path / "log").write_text("nothing")
    with pytest.raises(DispatchvizError, match=r"there is no error in .*log that is known here"):
        read_message(str(tmp_path / "log"))
    with pytest.raises(DispatchvizError, match=r"cannot read .*nope: No such file"):
        read_message(str(tmp_path / "nope"))
