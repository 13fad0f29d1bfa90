"""``torch.cuda``: there is always one device, real or emulated."""

from __future__ import annotations

from dispatchviz.core.backend import array_module, cuda_state
from dispatchviz.core.native.random import default_generators
from dispatchviz.core.tensor import Tensor
from dispatchviz.torch.cuda import amp as amp
from dispatchviz.torch.cuda.current_device import current_device as current_device
from dispatchviz.torch.cuda.current_device import device as device
from dispatchviz.torch.cuda.current_device import device_count as device_count
from dispatchviz.torch.cuda.current_device import set_device as set_device
from dispatchviz.torch.cuda.streams import Event as Event
from dispatchviz.torch.cuda.streams import Stream as Stream
from dispatchviz.torch.cuda.streams import StreamContext as StreamContext
from dispatchviz.torch.cuda.streams import current_stream as current_stream
from dispatchviz.torch.cuda.streams import default_stream as default_stream
from dispatchviz.torch.cuda.streams import set_stream as set_stream
from dispatchviz.torch.cuda.streams import stream as stream
from dispatchviz.torch.legacy_constructors import CUDA_TYPES


def is_available() -> bool:
    """True: ``cuda`` works on every machine."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def empty_cache() -> None:
    """Gives blocks that CuPy keeps back to the GPU."""
    if cuda_state().real:
        array_module("cuda").get_default_memory_pool().free_all_blocks()


def get_device_name(device: object = None) -> str:
    """The GPU's name, or that it is emulated and why."""
    state = cuda_state()
    return state.reason if state.real else f"dispatchviz: {state}"


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """True."""
    return True


def synchronize(device: object = None) -> None:
    """Waits for the GPU."""
    if cuda_state().real:
        array_module("cuda").cuda.runtime.deviceSynchronize()


def manual_seed(seed: int) -> None:
    """Seeds the device's default generator."""
    default_generators["cuda"].manual_seed(int(seed))


manual_seed_all = manual_seed


def initial_seed() -> int:
    """The seed from which the device's default generator started."""
    return default_generators["cuda"].initial_seed()


def get_rng_state(device: object = "cuda") -> Tensor:
    """Where the device's default generator is."""
    return default_generators["cuda"].get_state()


def set_rng_state(new_state: Tensor, device: object = "cuda") -> None:
    """Puts the device's default generator where a state says."""
    default_generators["cuda"].set_state(new_state)


globals().update(CUDA_TYPES)
