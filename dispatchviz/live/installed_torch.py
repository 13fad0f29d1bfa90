"""Functions that find, check and describe the installed PyTorch.

``import torch`` may mean dispatchviz's model at the moment (``import_hook.py``); here it never does. If PyTorch were
imported while it does, its own modules would import the model.
"""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import CDLL
from functools import cache
from types import ModuleType
from typing import Any

from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.pytorch_release import MINOR
from dispatchviz.running.torch_names import is_torch

DESCRIBED = tuple(map(int, MINOR.split(".")))
"""The release that dispatchviz describes. Differences in another release are reported."""
OLDEST = (2, 6)
"""The first release that dispatchviz reads."""

NEWEST = (2, 14)
"""The newest release that the tests ran on. Later ones are recorded, too."""

WANTED = f"PyTorch {OLDEST[0]}.{OLDEST[1]} or later"


class InstalledTorchError(DispatchvizError, ImportError):
    """Raised if there is no usable PyTorch in this environment."""


@cache
def installed_torch() -> Any:
    """Return the module ``torch`` of the PyTorch in this Python's environment. Raise InstalledTorchError if it is
    missing or unusable.
    """
    with _model_put_aside():
        return _checked(_imported())


def _imported() -> ModuleType:
    try:
        with warnings.catch_warnings(action="ignore"):  # about a missing NumPy or driver, which are not needed
            return importlib.import_module("torch")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise InstalledTorchError(_broken(error)) from error
    except Exception as error:  # a missing library is an OSError; others may raise anything
        raise InstalledTorchError(_broken(error)) from error
    raise InstalledTorchError(
        f"this needs an installed PyTorch, and {sys.executable} finds none: install {WANTED} there, "
        "or install dispatchviz where PyTorch is"
    )


def _broken(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"PyTorch is installed, but `import torch` fails: {lines[0] if lines else type(error).__name__}"


def _checked(torch: ModuleType) -> ModuleType:
    if not is_pytorch(torch):
        place = torch.__file__ or ", ".join(torch.__path__)
        raise InstalledTorchError(f"this needs an installed PyTorch, but `import torch` finds {place}, another module")
    version = str(vars(torch)["__version__"])
    if release(version) < OLDEST:
        raise InstalledTorchError(f"this needs {WANTED}, but {version} is installed, at {torch.__file__}")
    return torch


def is_pytorch(torch: ModuleType | None) -> bool:
    """Return whether a module called ``torch`` is PyTorch."""
    return hasattr(torch, "__version__") and hasattr(getattr(torch, "_C", None), "_dispatch_dump")


def release(version: str) -> tuple[int, int]:
    """Return major and minor version: (2, 13) for ``2.13.0+cpu``."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else (0, 0)


@contextmanager
def _model_put_aside() -> Iterator[None]:
    """Let ``import torch`` find the installed PyTorch inside the block, and restore its former meaning afterwards."""
    finders = [finder for finder in sys.meta_path if type(finder).__module__ == "dispatchviz.running.import_hook"]
    if not finders:
        yield
        return
    model = {name: module for name, module in sys.modules.items() if is_torch(name)}
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder not in finders]
    _forget(model)
    try:
        yield
    finally:
        _forget([name for name in sys.modules if is_torch(name)])
        sys.modules.update(model)
        sys.meta_path[:0] = finders


def _forget(names: Iterator[str] | list[str] | dict[str, ModuleType]) -> None:
    for name in names:
        sys.modules.pop(name, None)


def build_text(torch: Any) -> str:
    """Return the description of a build: ``PyTorch 2.13.0+cpu, CPU build, release``."""
    kind = "debug" if torch.version.debug else "release"
    return f"PyTorch {torch.__version__}, {accelerator(torch)} build, {kind}{newer_than_tested(torch.__version__)}"


def newer_than_tested(version: str) -> str:
    """Return a remark on a release that the tests did not run on; empty for the others."""
    return f" (newer than {NEWEST[0]}.{NEWEST[1]}, the newest that was tested)" if release(version) > NEWEST else ""


def accelerator(torch: Any) -> str:
    """Return the accelerator of a build: ``CPU``, ``CUDA 12.8``, ``ROCm 6.4``, ``XPU 20250101``."""
    for name, attribute in (("CUDA", "cuda"), ("ROCm", "hip"), ("XPU", "xpu")):
        if found := getattr(torch.version, attribute, None):
            return f"{name} {found}"
    return "CPU"


def may_have_cuda(torch: Any) -> bool:
    """Return whether a tensor on a GPU may exist: not in a CUDA build on Linux without NVIDIA's driver, which is loaded
    but not initialized here.
    """
    if torch.version.cuda is None or sys.platform != "linux":
        return True
    try:
        CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def cuda_text(torch: Any) -> str:
    """Return the name of the GPU behind ``cuda``, or the reason why there is none."""
    if torch.version.cuda is None and getattr(torch.version, "hip", None) is None:
        return f"none ({accelerator(torch)} build)"
    if not torch.cuda.is_available():
        return f"none ({accelerator(torch)} build without a GPU)"
    return f"{torch.cuda.get_device_name(0)} ({accelerator(torch)})"
