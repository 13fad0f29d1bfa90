"""``torch.Generator``, ``manual_seed`` (``aten/src/ATen/CPUGeneratorImpl.cpp``, ``torch/csrc/Generator.cpp``).

A generator is a stream of random 32-bit outputs, and one cached normal sample. ``distributions_helper.py`` converts
them to samples. NB: in PyTorch, the default CPU generator has a random seed until ``manual_seed`` is called. Here each
process starts from one seed, so that a program gives the same trace each time. NB: in PyTorch, CUDA generators are
Philox, whose numbers a GPU's threads draw. Here they draw like CPU generators.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy

from dispatchviz.core.device.declared_in_c import DeclaredInC
from dispatchviz.core.device.device import CPU, CUDA, Device, concrete
from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.native.random.mersenne_twister import STATE_SIZE, MersenneTwister
from dispatchviz.core.tensor.dtype import uint8
from dispatchviz.core.tensor.tensor import Tensor, empty_strided

HERE = frozenset({"cpu", "cuda"})

NO_ACCELERATORS = frozenset(
    {"fpga", "ideep", "ipu", "lazy", "maia", "meta", "mkldnn", "opencl", "opengl", "ve", "vulkan"}
)
"""Device types without hooks."""

TEXTS = {
    **dict.fromkeys(("hip", "hpu"), "Backend doesn`t support getNewGenerator()"),
    "mps": "Cannot execute getNewGenerator() without MPS backend.",
    "mtia": "Cannot execute getNewGenerator() without MTIA backend.",
    "xla": "Cannot get XLA generator without torch_xla library. This error has occurred because you are trying to use "
    "some XLA functionality, but the XLA library has not been loaded by the dynamic linker. You must load xla "
    "libraries by `import torch_xla`",
    "xpu": "Cannot get XPU generator without ATen_xpu library.",
}
"""The error messages of hooks that no library has replaced."""

PRIVATE_USE = "Please register PrivateUse1HooksInterface by `RegisterPrivateUse1HooksInterface` first."


def check_generator(device: Device) -> None:
    """Raise RuntimeError if a device has no generator."""
    kind = device.type
    if kind in HERE:
        return
    if kind in NO_ACCELERATORS:
        raise RuntimeError(f"{kind.upper()} device type not an accelerator.")
    raise RuntimeError(TEXTS.get(kind, PRIVATE_USE))


DEFAULT_SEED = 67280421310721
"""The default seed, ``c10::default_rng_seed_val``."""

_HEAD = struct.Struct("<QiiQ")
"""The header of the state: seed, words left, whether it is seeded, words drawn. The words follow, with 8 bytes each."""
_TAIL = struct.Struct("<ddd i4x f ?3x")
"""The end of the state.

The second float64 is an unused normal number, if the integer is 1. The float32 and its flag are not used.
"""
_BYTES = _HEAD.size + 8 * STATE_SIZE + _TAIL.size


class Generator(metaclass=DeclaredInC, name="torch._C.Generator"):
    """A source of random numbers for one device (``torch.Generator``)."""

    __slots__ = ("_engine", "_seed", "device", "key_set", "next_double_normal_sample")

    def __init__(self, device: Device | str | int = CPU) -> None:
        self.device = concrete(Device(device) if isinstance(device, (str, int)) else device)
        check_generator(self.device)
        self.key_set = raw(DispatchKey.CUDA if self.device.type == "cuda" else DispatchKey.CPU)
        """The keys that a generator contributes to the key set of a call."""
        self.manual_seed(DEFAULT_SEED)

    def manual_seed(self, seed: int) -> Generator:
        """Restart from a seed; a negative one counts from 2**64. Raise ValueError if it has more than 64 bits."""
        if not isinstance(seed, int):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        if not -(1 << 63) <= seed < 1 << 64:
            raise ValueError("Overflow when unpacking long long")
        self._seed = seed % (1 << 64)
        self._engine: MersenneTwister | None = None
        self.next_double_normal_sample: float | None = None
        return self

    @property
    def engine(self) -> MersenneTwister:
        """The random number engine, created at the first use."""
        if self._engine is None:
            self._engine = MersenneTwister(self._seed)
        return self._engine

    def initial_seed(self) -> int:
        """The seed from which the generator started."""
        return self._seed

    def seed(self) -> int:
        """Set and return a seed from the operating system's randomness."""
        import secrets  # imported here because it loads OpenSSL

        return self.manual_seed(secrets.randbits(64)).initial_seed()

    # -- state ---------------------------------------------------------------------------------------------------------

    def state_bytes(self) -> bytes:
        """The state in PyTorch's layout, byte for byte (``CPUGeneratorImplState``)."""
        position, key = self.engine.state
        left = STATE_SIZE + 1 - position if position else 1
        sample = self.next_double_normal_sample
        tail = _TAIL.pack(0, sample or 0, 0, sample is not None, 0, False)
        return b"".join((_HEAD.pack(self._seed, left, 1, position), key.astype("<u8").tobytes(), tail))

    def restore(self, state: bytes) -> None:
        """Restore a state. Raise RuntimeError if no generator can have written it."""
        if len(state) != _BYTES:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {_BYTES} but found the input RNG state size to be "
                f"{len(state)}"
            )
        seed, left, seeded, position = _HEAD.unpack_from(state)
        if seeded != 1 or not 0 < left <= STATE_SIZE or position > STATE_SIZE:
            raise RuntimeError("Invalid mt19937 state")
        _, sample, _, has_sample, _, _ = _TAIL.unpack_from(state, _HEAD.size + 8 * STATE_SIZE)
        self._seed = seed
        self.engine.state = position, numpy.frombuffer(state, "<u8", STATE_SIZE, _HEAD.size)
        self.next_double_normal_sample = sample if has_sample else None

    def get_state(self) -> Tensor:
        """The state as a tensor of bytes."""
        state = numpy.frombuffer(self.state_bytes(), numpy.uint8)
        tensor = empty_strided((state.size,), (1,), uint8, CPU)
        tensor._array[...] = state
        return tensor

    def set_state(self, new_state: Tensor) -> Generator:
        """Continue from the state of another generator. Raise TypeError unless it is a tensor of bytes."""
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state._dtype is not uint8 or new_state._device != CPU:
            raise TypeError("RNG state must be a torch.ByteTensor")
        self.restore(new_state._array.tobytes())
        return self

    def clone_state(self) -> Generator:
        """A new generator with the same state."""
        generator = Generator(self.device)
        generator.restore(self.state_bytes())
        return generator

    def graphsafe_get_state(self) -> Generator:
        """Raise NotImplementedError: only CUDA's generators support this, for CUDA graphs."""
        raise NotImplementedError("graphsafe_get_state is not supported in this Generator")

    def graphsafe_set_state(self, state: Generator) -> Generator:
        """Raise NotImplementedError: only CUDA's generators support this, for CUDA graphs."""
        raise NotImplementedError("graphsafe_set_state is not supported in this Generator")

    def get_offset(self) -> int:
        """Raise RuntimeError: a Mersenne Twister has no offset in its stream."""
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset: int) -> Generator:
        """Raise RuntimeError: a Mersenne Twister cannot jump to an offset."""
        raise RuntimeError("CPU Generator does not use offset")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.device.type, self.state_bytes())

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {id(self):#x}>"


def _rebuilt(device: str, state: bytes) -> Generator:
    generator = Generator(device)
    generator.restore(state)
    return generator


default_generators = {"cpu": Generator(CPU), "cuda": Generator(CUDA)}


def manual_seed(seed: int) -> Generator:
    """Seed the default generators of all devices; return the CPU's generator."""
    seed = int(seed)
    for generator in default_generators.values():
        generator.manual_seed(seed)
    return default_generators["cpu"]
