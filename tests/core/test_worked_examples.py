"""Key sets as raw integers: those of calls, of tensors, and the changes that modes and guards make to a thread's.

Programs are in ``truth/questions/worked_examples.txt``. PyTorch's results are in ``truth/records/worked_examples.json``
(``truth/recorders/worked_examples.py``), including those for tensors of a CUDA device. The numbers below are written
out for readers. Both PyTorch's record and the model must agree with them.
"""

from __future__ import annotations

import functools
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.device.device import Device
from dispatchviz.core.keys.key_set import raw, tensor_key_set
from dispatchviz.core.keys.keys import DispatchKey as K
from dispatchviz.core.record.events import Dispatched, KernelSelected, KeySetComputed
from dispatchviz.core.tensor.dtype import float32
from dispatchviz.core.tensor.tensor import Storage, Tensor
from dispatchviz.core.thread.thread_state import thread
from dispatchviz.trace import Trace
from truth import records
from truth.questions.worked_examples import CALLS, STATES, TENSORS, Call, Globals, key_set

pytestmark = pytest.mark.record("worked_examples")

CALLED = """
name                                             OR of arguments  with included      without excluded   effective          picked
add_cpu                                          0x9400010001     0x9404010001       0x1404010001       0x1000010001       AutogradCPU
add_no_grad                                      0x9400010001     0x9404010001       0x1404010001       0x1000010001       AutogradCPU
add_cuda                                         0x801400010002   0x801404010002     0x1404010002       0x1000010002       AutogradCUDA
add_cuda_and_cpu_scalar                          0x809400010003   0x809404010003     0x1404010003       0x1000010003       AutogradCUDA
add_normal_in_inference_mode                     0x9400010001     0x9404010001       0x404010001        0x10001            CPU
add_inference_in_inference_mode                  0x8000010001     0x8004010001       0x4010001          0x10001            CPU
mul_in_place                                     0x9400010001     0x9404010001       0x1404010001       0x1400010001       AutogradCPU
mul_in_place_normal_in_inference_mode            0x9400010001     0x9404010001       0x404010001        0x400010001        ADInplaceOrView
view_cpu                                         0x9400010001     0x9404010001       0x1404010001       0x1400010001       AutogradCPU
view_of_inference_tensor                         0x8000010001     0x8404010001       0x404010001        0x400010001        ADInplaceOrView
view_of_inference_tensor_in_inference_mode       0x8000010001     0x8004010001       0x4010001          0x10001            CPU
mm_autocast                                      0x9400010001     0x9404010001       0x9404010001       0x9000010001       AutocastCPU
add_autocast                                     0x9400010001     0x9404010001       0x9404010001       0x1000010001       AutogradCPU
add_in_vmap                                      0x2009400010001  0x202009424010001  0x202001424010001  0x202001020010001  FuncTorchDynamicLayerFrontMode
randn_of_torch_ops                               0x0              0x404000000        0x404000000        0x4000000          BackendSelect
randn_of_torch                                   0x0              0x404000000        0x4000000          0x4000000          BackendSelect
add_conj                                         0x9480010001     0x9484010001       0x1484010001       0x1080010001       AutogradCPU
view_conj                                        0x9480010001     0x9484010001       0x1484010001       0x1400010001       AutogradCPU
add_sparse_coo                                   0x9400800001     0x9404800001       0x1404800001       0x1000800001       AutogradCPU
add_mkldnn                                       0xc00400000      0xc04400000        0xc04400000        0x800400000        AutogradOther
add_under_a_mode                                 0x9400010001     0x100009414010001  0x100001414010001  0x100001010010001  PythonTLSSnapshot
custom_operator_of_cpu_and_meta                  0x9400018001     0x9404018001       0x1404018001       0x1000018001       AutogradMeta
exclude_AutogradCPU_of_meta                      0x1400018000     0x1404018000       0x404018000        0x400018000        ADInplaceOrView
exclude_AutogradCPU_of_cuda                      0x801400010002   0x801404010002     0x404010002        0x10002            CUDA
exclude_CPU                                      0x9400010001     0x9404010001       0x1404000001       0x1400000001       AutogradCPU
exclude_everything                               0x9400010001     0x9404010001       0x404000001        0x1                Undefined
fallthrough_for_AutogradCPU_only_of_cpu_and_meta 0x9400018001     0x9404018001       0x1404018001       0x1000018001       AutogradMeta
fallthrough_for_AutogradCPU_only_of_cpu          0x9400010001     0x9404010001       0x1404010001       0x10001            CPU
"""  # noqa: E501

THEN = """
add_cpu                          VariableType::add_Tensor, CPU 0x10001
add_cuda                         VariableType::add_Tensor, CUDA 0x10002
add_cuda_and_cpu_scalar          VariableType::add_Tensor, CUDA 0x10003
mul_in_place                     VariableType::mul__Tensor, ADInplaceOrView 0x400010001, CPU 0x10001
view_of_inference_tensor         ADInplaceOrView::view, CPU 0x10001
add_conj                         VariableType::add_Tensor, Conjugate 0x80010001, CPU 0x10001
view_conj                        VariableType::view, ADInplaceOrView 0x400010001, CPU 0x10001
add_sparse_coo                   VariableType::add_Tensor, SparseCPU 0x800001
add_mkldnn                       VariableType::add_Tensor, MkldnnCPU 0x400000
add_under_a_mode                 pythonTLSSnapshotFallback, AutogradCPU 0x1010010001, Python 0x10010001, CPU 0x10001
"""
"""The kernel that is picked, and the dispatches of the same operator within it."""

THEN_ROWS = {line.split()[0]: line.split(maxsplit=1)[1] for line in THEN.strip().split("\n")}

ONLY_IN_PYTORCH = {
    "add_sparse_coo": "aten::add.Tensor for SparseCPU holds PyTorch's kernel wrapper_SparseCPU_Tensor_add",
    "add_mkldnn": "aten::add.Tensor for MkldnnCPU holds PyTorch's kernel wrapper_MkldnnCPU_Tensor_add",
}
"""Calls of tensors for which the model has no memory, and where they end."""


@functools.cache
def measured() -> dict[str, Any]:
    """PyTorch's numbers."""
    return records.read("worked_examples")  # type: ignore[no-any-return]


def of(device: str, layout: str = "strided", dtype: str = "float32") -> Any:
    """A plain tensor, or one with the keys of a device or layout that the model lacks."""
    if device in ("cpu", "cuda", "meta") and layout == "strided" and dtype == "float32":
        return torch.empty(2, 2, device=device)
    keys = tensor_key_set(device, thread.state.inference_mode, layout, dtype_is_quantized=dtype.startswith("q"))
    return Tensor(keys, None, Storage(None), (2, 2), (2, 1), 0, float32, Device(device if device != "hip" else "cuda"))


def given() -> Globals:
    """The variables for one program."""
    return Globals(torch, {"of": of})


def recorded(call: Call) -> Trace:
    """The trace of a call, without its set-up."""
    variables = given()
    variables.run(call.setup)
    try:
        with warnings.catch_warnings(), dispatchviz.record() as trace:
            warnings.simplefilter("ignore")
            variables.run(call.source)
    except (RuntimeError, NotImplementedError):
        pass
    finally:
        variables.close()
    return trace


def first(trace: Trace, operator: str) -> Dispatched:
    """The first dispatch of an operator."""
    return next(e for e in trace if isinstance(e, Dispatched) and e.operator == operator)


def within(trace: Trace, event: Dispatched, kind: type[Any]) -> Any:
    """The first event of a kind during another."""
    return next(e for e in trace[event.seq : trace.ends[event.seq] + 1] if isinstance(e, kind))


def rows(table: str) -> dict[str, list[str]]:
    """The rows of a table, by name."""
    return {name: rest for name, *rest in (line.split() for line in table.strip().split("\n"))}


def test_every_recorded_call_has_an_example() -> None:
    assert list(rows(CALLED))[1:] == list(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_key_set_of_the_call_in_pytorch(name: str) -> None:
    found = measured()["calls"][name]
    united = functools.reduce(int.__or__, found["arguments"], 0)
    included = united | found["included"]
    excluded = included & (0xFFFF | ~found["excluded"])
    numbers = [united, included, excluded, found["effective"]]
    assert [*map(hex, numbers), found["key"]] == rows(CALLED)[name]


@pytest.mark.parametrize("name", CALLS)
def test_key_set_of_the_call_in_the_model(name: str) -> None:
    trace = recorded(CALLS[name])
    call = first(trace, CALLS[name].operator)
    computed = within(trace, call, KeySetComputed)
    numbers = [computed.united, computed.with_included, computed.without_excluded, computed.effective]
    assert [*map(hex, numbers), call.key] == rows(CALLED)[name]
    found = measured()["calls"][name]
    assert [keys for _, _, keys in computed.arguments] == found["arguments"]
    assert [computed.included, computed.excluded] == [found["included"], found["excluded"]]
    assert call.key_set == found["effective"]


@pytest.mark.parametrize("name", THEN_ROWS)
def test_call_picks_this_kernel_and_redispatches(name: str) -> None:
    """The kernel that is picked, and the dispatches of the same operator within it."""
    trace = recorded(CALLS[name])
    call = first(trace, CALLS[name].operator)
    inner = [e for e in trace[call.seq + 1 : trace.ends[call.seq] + 1] if isinstance(e, Dispatched)]
    then = [f"{e.key} {e.key_set:#x}" for e in inner if e.operator == call.operator]
    assert ", ".join([within(trace, call, KernelSelected).kernel, *then]) == THEN_ROWS[name]


@pytest.mark.parametrize("name", ONLY_IN_PYTORCH)
def test_last_entry_holds_a_kernel_without_our_function(name: str) -> None:
    variables = given()
    variables.run(CALLS[name].setup)
    with pytest.raises(NotImplementedError, match="which dispatchviz does not implement") as error:
        variables.run(CALLS[name].source)
    assert ONLY_IN_PYTORCH[name] in str(error.value)


# -- tensors ----------------------------------------------------------------------------------------------------------

CPU_TENSOR = 0x9400010001
OF_TENSORS = {
    **dict.fromkeys(("cpu", "cpu_int", "cpu_bool", "cpu_complex", "requires_grad", "with_grad_fn"), CPU_TENSOR),
    **dict.fromkeys(("parameter", "detached", "dual", "view"), CPU_TENSOR),
    "conj": 0x9480010001,
    **dict.fromkeys(("conj_imag", "neg_view"), 0x9500010001),
    "sparse_coo": 0x9400800001,
    **dict.fromkeys(("sparse_csr", "sparse_csc", "sparse_bsr"), 0x9401000001),
    "quantized": 0x9400100001,
    "mkldnn": 0xC00400000,
    "meta": 0x1400018000,
    "meta_sparse_coo": 0x1400808000,
    "inference": 0x8000010001,
    "nested": 0xB402000001,
    "jagged": 0x10000B412010001,
    "zero_tensor": 0x9600010001,
    "functional": 0x9440010001,
    "in_vmap": 0x2009400010001,
    "in_grad": 0x40009400010001,
    **dict.fromkeys(("subclass", "wrapper_cpu"), 0x100009410010001),
    "wrapper_cuda": 0x100801410010002,
    "cuda": 0x801400010002,
    "hip": 0xC00010004,
    "lazy": 0x1400010200,
    "privateuseone": 0x1001400011000,
}
NOT_IN_THE_MODEL = {
    "nested": (K.NestedTensorCPU, K.AutogradNestedTensor, K.AutogradCPU, K.ADInplaceOrView, K.AutocastCPU),
    "jagged": (
        *(K.NestedTensorCPU, K.CPU, K.AutogradNestedTensor, K.AutogradCPU, K.ADInplaceOrView, K.AutocastCPU),
        *(K.Python, K.PythonTLSSnapshot),
    ),
}
"""Tensors of which the model cannot even create an empty one, and their keys."""


def test_key_sets_of_tensors_in_pytorch() -> None:
    assert measured()["tensors"] == OF_TENSORS


@pytest.mark.parametrize("name", [name for name in TENSORS if name not in NOT_IN_THE_MODEL])
def test_key_set_of_the_tensor_in_the_model(name: str) -> None:
    assert key_set(given(), TENSORS[name]) == OF_TENSORS[name]


@pytest.mark.parametrize("name", NOT_IN_THE_MODEL)
def test_keys_of_nested_tensors(name: str) -> None:
    assert raw(*NOT_IN_THE_MODEL[name]) == OF_TENSORS[name]


def test_the_undefined_tensor_has_no_key() -> None:
    assert raw(K.Undefined) == 0


# -- the thread's sets ------------------------------------------------------------------------------------------------

INCLUDED, EXCLUDED = 0x404000000, 0x1FF8000000000
AUTOGRAD, AUTOGRAD_AND_VIEWS = 0x3800000000, 0x3C00000000
TRANSFORM = 0x200000424000000  # with FuncTorchDynamicLayerFrontMode and FuncTorchDynamicLayerBackMode
OF_STATES = {
    "default": [(INCLUDED, EXCLUDED)],
    "no_grad": [(INCLUDED, EXCLUDED)],
    "enable_grad": [(INCLUDED, EXCLUDED)],
    "inside_a_Function": [(INCLUDED, EXCLUDED), (INCLUDED, EXCLUDED)],
    "inference_mode": [(0x4000000, 0x1FFB800000000)],
    "inference_mode_False_inside": [(INCLUDED, EXCLUDED)],
    "inference_mode_False_removes_the_autograd_keys": [(INCLUDED, EXCLUDED)],
    "autocast_cpu": [(INCLUDED, 0x1FF0000000000)],
    "inside_vmap": [(TRANSFORM, EXCLUDED)],
    "inside_nested_vmap": [(TRANSFORM, EXCLUDED)],
    "inside_grad": [(TRANSFORM, EXCLUDED)],
    "inside_a_mode": [(0x100000414000000, EXCLUDED)],
    "inside_the_handler_of_a_mode": [(INCLUDED, 0x1FFFFFFFE0000000)],
    "DisableTorchDispatch": [(INCLUDED, EXCLUDED | raw(K.Python, K.PythonTLSSnapshot, K.PreDispatch))],
    "EnablePythonDispatcher": [(INCLUDED | 1 << 61, EXCLUDED)],
    "EnablePreDispatch": [(INCLUDED | 1 << 60, EXCLUDED)],
    "ExcludeDispatchKeyGuard": [(INCLUDED, EXCLUDED | raw(K.AutogradCPU, K.Meta))],
    "IncludeDispatchKeyGuard": [(INCLUDED | raw(K.Python), EXCLUDED)],
    "ForceDispatchKeyGuard": [(raw(K.CPU, K.Functionalize), raw(K.AutogradCUDA)), (INCLUDED, EXCLUDED)],
    "AutoDispatchBelowAutograd": [(INCLUDED, EXCLUDED | AUTOGRAD)],
    "AutoDispatchBelowADInplaceOrView": [(INCLUDED, EXCLUDED | AUTOGRAD_AND_VIEWS)],
    "what_changes_inside_a_guard_is_lost": [(INCLUDED, EXCLUDED | raw(K.Meta, K.Tracer)), (INCLUDED, EXCLUDED)],
    "setters_leave_the_backend_bit": [(INCLUDED | raw(K.CUDA), EXCLUDED), (INCLUDED | 0b10, EXCLUDED)],
    "set_meta_in_tls_dispatch_include_leaves_the_Dense_bit": [
        (INCLUDED | raw(K.Meta), EXCLUDED),
        (INCLUDED | raw(K.Dense), EXCLUDED),
    ],
    "set_autocast_enabled": [(INCLUDED, EXCLUDED & ~raw(K.AutocastCPU)), (INCLUDED, EXCLUDED)],
}
"""Pairs of include and exclude set."""


def test_key_sets_of_states_in_pytorch() -> None:
    found = measured()["states"]
    assert {name: [tuple(pair) for pair in pairs] for name, pairs in found.items()} == OF_STATES


@pytest.mark.parametrize("name", STATES)
def test_key_sets_of_the_state_in_the_model(name: str) -> None:
    variables = given()
    with ThreadPoolExecutor(1) as other:  # some leave their thread's sets changed
        other.submit(variables.run, STATES[name]).result()
    assert [tuple(pair) for pair in variables.noted] == OF_STATES[name]


def test_autocast_on_cuda_includes_its_key() -> None:
    """A CPU build of PyTorch warns and leaves autocast off. The model has a CUDA device on every machine."""
    variables = given()
    variables.run('with torch.autocast("cuda"): note()')
    assert variables.noted == [[INCLUDED, EXCLUDED & ~raw(K.AutocastCUDA)]]


def test_torch_factory_excludes_autograd() -> None:
    trace = recorded(CALLS["randn_of_torch"])
    computed = within(trace, first(trace, "aten::randn"), KeySetComputed)
    assert (computed.included, computed.excluded) == (INCLUDED, EXCLUDED | AUTOGRAD_AND_VIEWS)


def test_queries_check_all_bits_of_a_key() -> None:
    """AutogradCPU is excluded from every dispatch here, yet its backend bit is not in the set."""
    C = torch._C
    with C._ExcludeDispatchKeyGuard(C.DispatchKeySet(C.DispatchKey.AutogradCUDA)):
        assert not C._dispatch_tls_is_dispatch_key_excluded("AutogradCPU")
        assert torch.add(torch.ones(1, requires_grad=True), 1).grad_fn is None
