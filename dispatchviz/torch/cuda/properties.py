"""The properties of a CUDA device (``torch.cuda.get_device_properties``).

NB: an emulated device has the machine's memory, no multiprocessors and the compute capability 0.0.
"""

from __future__ import annotations

from dataclasses import dataclass

from dispatchviz.core.device.array_library import array_module, cuda_state
from dispatchviz.torch.cuda.current_device import init, set_device
from dispatchviz.torch.cuda.memory import mem_get_info


@dataclass(frozen=True)
class _CudaDeviceProperties:
    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    warp_size: int = 32

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory // 2**20}MB, multi_processor_count={self.multi_processor_count})"
        )


def get_device_name(device: object = None) -> str:
    """Return the GPU's name, or a text that it is emulated and why."""
    init()
    set_device(device)
    state = cuda_state()
    return state.reason if state.real else f"dispatchviz: {state}"


def get_device_properties(device: object = None) -> _CudaDeviceProperties:
    """Return name, compute capability and memory. Raise RuntimeError for a device that does not exist."""
    init()
    set_device(device)
    if not cuda_state().real:
        return _CudaDeviceProperties(get_device_name(), 0, 0, mem_get_info()[1], 0)
    found = array_module("cuda").cuda.runtime.getDeviceProperties(0)
    numbers = [found[name] for name in ("major", "minor", "totalGlobalMem", "multiProcessorCount")]
    return _CudaDeviceProperties(get_device_name(), *numbers)


def get_device_capability(device: object = None) -> tuple[int, int]:
    """Return the major and minor compute capability, (0, 0) if CUDA is emulated."""
    properties = get_device_properties(device)
    return properties.major, properties.minor
