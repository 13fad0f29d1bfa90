"""``torch.utils.rename_privateuse1_backend``: the model prints the same as an installed PyTorch.

A process may choose a name once, so the program runs in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
def tried(function, *arguments):
    try:
        return repr(function(*arguments))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"

rename = torch.utils.rename_privateuse1_backend
early = torch.device("privateuseone:1")
print(torch._C._get_privateuse1_backend_name(), early)
print(tried(rename, "cuda"))
print(tried(rename, 3))
print(tried(rename, "toy"))
print(tried(rename, "toy"))
print(tried(rename, "other"))
print(torch._C._get_privateuse1_backend_name(), repr(early), early == torch.device("toy:1"), torch.device("toy"))
print(torch.device("privateuseone:0"), torch._C._dispatch_key_for_device("toy"))
print(tried(torch.device, "tody"))
print(tried(lambda: torch.ones(2, device="toy")))

class OnToy(torch.Tensor):
    @staticmethod
    def __new__(cls, *size):
        return torch.Tensor._make_wrapper_subclass(cls, size, device="toy:0")

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return func(*args)

x = OnToy(2)
print(x.device, torch._C._dispatch_keys(x).has(torch._C.DispatchKey.PrivateUse1))
"""

PRINTED = """\
privateuseone privateuseone:1
RuntimeError: Cannot register privateuse1 backend with in-tree device name: cuda
RuntimeError: _rename_privateuse1_backend expects a str, but got int
None
None
RuntimeError: torch.register_privateuse1_backend() has already been set! Current backend: toy
toy device(type='toy', index=1) True toy
toy:0 PrivateUse1
RuntimeError: Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, \
vulkan, mps, meta, hpu, mtia, privateuseone device type at start of device string: tody
ModuleNotFoundError: No module named 'torch.toy'
toy:0 True
"""


def _printed(importing: str) -> str:
    command = [sys.executable, "-c", f"{importing}\n{PROGRAM}"]
    return subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout


def test_device_has_the_chosen_name_on_the_model() -> None:
    assert _printed("from dispatchviz import torch") == PRINTED


@pytest.mark.torch
def test_device_has_the_chosen_name_on_an_installed_pytorch() -> None:
    assert _printed("import torch") == PRINTED


def test_next_program_chooses_again() -> None:
    from dispatchviz import torch
    from dispatchviz.running.process_state import clean_process_state

    for name in ("toy", "other"):
        with clean_process_state():
            torch.utils.rename_privateuse1_backend(name)
            assert str(torch.device("privateuseone:0")) == f"{name}:0"
    assert str(torch.device("privateuseone:0")) == "privateuseone:0"
