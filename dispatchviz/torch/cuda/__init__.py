"""``torch.cuda``: one device, real or emulated, or none if that was requested."""

from __future__ import annotations

from collections.abc import Iterable

from dispatchviz.core.device import array_library
from dispatchviz.core.device.array_library import array_module, cuda_state
from dispatchviz.core.native.random.generator import default_generators
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch import errors
from dispatchviz.torch.cuda import amp as amp
from dispatchviz.torch.cuda import memory as memory
from dispatchviz.torch.cuda import nvtx as nvtx
from dispatchviz.torch.cuda.current_device import current_device as current_device
from dispatchviz.torch.cuda.current_device import device as device
from dispatchviz.torch.cuda.current_device import device_count as device_count
from dispatchviz.torch.cuda.current_device import init as init
from dispatchviz.torch.cuda.current_device import is_available as is_available
from dispatchviz.torch.cuda.current_device import set_device as set_device
from dispatchviz.torch.cuda.memory import empty_cache as empty_cache
from dispatchviz.torch.cuda.memory import max_memory_allocated as max_memory_allocated
from dispatchviz.torch.cuda.memory import max_memory_cached as max_memory_cached
from dispatchviz.torch.cuda.memory import max_memory_reserved as max_memory_reserved
from dispatchviz.torch.cuda.memory import mem_get_info as mem_get_info
from dispatchviz.torch.cuda.memory import memory_allocated as memory_allocated
from dispatchviz.torch.cuda.memory import memory_cached as memory_cached
from dispatchviz.torch.cuda.memory import memory_reserved as memory_reserved
from dispatchviz.torch.cuda.memory import memory_stats as memory_stats
from dispatchviz.torch.cuda.memory import memory_summary as memory_summary
from dispatchviz.torch.cuda.memory import reset_accumulated_memory_stats as reset_accumulated_memory_stats
from dispatchviz.torch.cuda.memory import reset_max_memory_allocated as reset_max_memory_allocated
from dispatchviz.torch.cuda.memory import reset_max_memory_cached as reset_max_memory_cached
from dispatchviz.torch.cuda.memory import reset_peak_memory_stats as reset_peak_memory_stats
from dispatchviz.torch.cuda.memory import set_per_process_memory_fraction as set_per_process_memory_fraction
from dispatchviz.torch.cuda.properties import get_device_capability as get_device_capability
from dispatchviz.torch.cuda.properties import get_device_name as get_device_name
from dispatchviz.torch.cuda.properties import get_device_properties as get_device_properties
from dispatchviz.torch.cuda.streams import Event as Event
from dispatchviz.torch.cuda.streams import Stream as Stream
from dispatchviz.torch.cuda.streams import StreamContext as StreamContext
from dispatchviz.torch.cuda.streams import current_stream as current_stream
from dispatchviz.torch.cuda.streams import default_stream as default_stream
from dispatchviz.torch.cuda.streams import set_stream as set_stream
from dispatchviz.torch.cuda.streams import stream as stream
from dispatchviz.torch.legacy_constructors import CUDA_TYPES


def ipc_collect() -> None:
    """Do nothing: no other process uses memory of this one."""
    init()


def is_current_stream_capturing() -> bool:
    """Return False: there are no CUDA graphs."""
    return False


def can_device_access_peer(device: object, peer_device: object) -> bool:
    """Return whether one device can read the memory of another. There is only one; raise RuntimeError for others."""
    init()
    set_device(device)
    set_device(peer_device)
    return False


def get_arch_list() -> list[str]:
    """Return the GPU architectures that PyTorch's kernels are compiled for, which are none."""
    return []


def is_initialized() -> bool:
    """Return whether CUDA has been used."""
    return is_available() and array_library.is_initialized()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return whether there is a device."""
    return is_available()


def synchronize(device: object = None) -> None:
    """Wait for the GPU."""
    init()
    if cuda_state().real:
        array_module("cuda").cuda.runtime.deviceSynchronize()


def manual_seed(seed: int) -> None:
    """Seed the device's default generator."""
    default_generators["cuda"].manual_seed(int(seed))


manual_seed_all = manual_seed


def seed() -> None:
    """Seed the device's default generator with a random number."""
    default_generators["cuda"].seed()


seed_all = seed


def get_rng_state_all() -> list[Tensor]:
    """Return the states of all devices, one or none."""
    return [get_rng_state()] if is_available() else []


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Set the states of all devices, which is one."""
    for state in new_states:
        set_rng_state(state)


def initial_seed() -> int:
    """Return the seed from which the device's default generator started."""
    init()
    return default_generators["cuda"].initial_seed()


def get_rng_state(device: object = "cuda") -> Tensor:
    """Return the state of the device's default generator."""
    init()
    return default_generators["cuda"].get_state()


def set_rng_state(new_state: Tensor, device: object = "cuda") -> None:
    """Set the state of the device's default generator."""
    default_generators["cuda"].set_state(new_state)


OutOfMemoryError, AcceleratorError = errors.OutOfMemoryError, errors.AcceleratorError
has_half = True

globals().update(CUDA_TYPES)
