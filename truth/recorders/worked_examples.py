"""The raw key sets of ``worked_examples.txt`` in an installed PyTorch (CPU): calls, tensors, thread states.

The record of a call has the key sets of its tensors, the thread-local include and exclude sets, the effective set and
its highest key, as the first kernel receives them. Every dispatch table entry in CELLS that is not a fallthrough gets a
kernel that records these sets and ends the call. So a call may reach an entry that has no kernel or needs a GPU; no
mask changes by that. Plain tensors of devices and layouts without memory here come from wrapper subclasses: ``detach``
under a guard that excludes Python gives a tensor with the same keys except the Python ones.

The file has ``calls`` (``{arguments, included, excluded, effective, key}`` by name), ``tensors`` (raw set by name) and
``states`` (pairs by name, one per ``note()``).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

from truth import records
from truth.formats.json_text import json_text
from truth.questions.worked_examples import CALLS, STATES, TENSORS, Call, Globals, key_set

C: Any = torch._C
CELLS = (
    *("CPU", "CUDA", "Meta", "MkldnnCPU", "SparseCPU", "BackendSelect", "Python", "FuncTorchDynamicLayerBackMode"),
    *("Functionalize", "Conjugate", "Negative", "ADInplaceOrView", "AutogradOther", "AutogradCPU", "AutogradCUDA"),
    *("AutogradMeta", "Tracer", "AutocastCPU", "FuncTorchBatched", "PythonTLSSnapshot", "PythonDispatcher"),
    "FuncTorchDynamicLayerFrontMode",
)
"""The keys whose kernels the calls may reach first."""
ALIASES = ("CompositeExplicitAutogradNonFunctional", "CompositeExplicitAutograd")
"""The aliases that provide the kernel for Undefined, for which Python cannot register one."""


class _Arrived(Exception):
    """Raised when the first kernel of a call has been reached."""


class _Dispatching(torch.Tensor):
    __torch_function__ = C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{func} is not expected here")


def of(device: str, layout: str = "strided", dtype: str = "float32") -> torch.Tensor:
    """A plain tensor without memory."""
    options: Any = {"layout": torch._mkldnn if layout == "mkldnn" else getattr(torch, layout)}
    options |= {"device": device, "dtype": getattr(torch, dtype)}
    wrapper = torch.Tensor._make_wrapper_subclass(_Dispatching, (2, 2), **options)
    with C._DisableTorchDispatch():
        return wrapper.detach()


def nested() -> torch.Tensor:
    """A nested tensor."""
    return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])


def jagged() -> torch.Tensor:
    """A nested tensor of the Python class."""
    return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)


def given() -> Globals:
    """The globals of one program."""
    return Globals(torch, {"of": of, "nested": nested, "jagged": jagged})


def measured(call: Call) -> dict[str, Any]:
    """The path of a call to its first kernel."""
    variables = given()
    variables.run(call.setup)
    found: dict[str, Any] = {}
    library = torch.library.Library(call.operator.partition("::")[0], "FRAGMENT")
    for key in (*_cells(call.operator), *ALIASES):
        library.impl(call.operator.partition("::")[2], _noting(found), key, with_keyset=True)
    try:
        variables.run(call.source)
    except _Arrived:
        return found
    finally:
        library._destroy()
        variables.close()
    raise AssertionError(f"{call.operator} was not called by {call.source}")


def _cells(operator: str) -> list[str]:
    """The keys in CELLS whose dispatch table entry is empty or not a fallthrough."""
    table = dict(re.findall(r"^(\w+): (.*)$", C._dispatch_dump_table(operator), re.MULTILINE))
    return [key for key in CELLS if not table.get(key, "").startswith("fallthrough")]


def _noting(found: dict[str, Any]) -> Callable[..., Any]:
    def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
        tensors = [a for a in (*args, *kwargs.values()) if isinstance(a, torch.Tensor)]
        found["arguments"] = [C._dispatch_keys(tensor).raw_repr() for tensor in tensors]
        found["included"] = C._dispatch_tls_local_include_set().raw_repr()
        found["excluded"] = C._dispatch_tls_local_exclude_set().raw_repr()
        found["effective"] = keys.raw_repr()
        found["key"] = keys.highestPriorityTypeId().name
        raise _Arrived

    return kernel


def noted(source: str) -> list[list[int]]:
    """The sets that a program records by ``note()``. It runs in a new thread, which may be left in any state."""
    variables = given()
    with ThreadPoolExecutor(1) as thread:
        thread.submit(variables.run, source).result()
    return variables.noted


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    warnings.simplefilter("ignore")
    found = {
        "torch": torch.__version__.partition("+")[0],
        "calls": {name: measured(call) for name, call in CALLS.items()},
        "tensors": {name: key_set(given(), source) for name, source in TENSORS.items()},
        "states": {name: noted(source) for name, source in STATES.items()},
    }
    yield records.HERE / "worked_examples.json", json_text(found)
