"""``torch.random``: seeds and states of the default generators (``torch/random.py``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from dispatchviz.core.native.random.generator import Generator, default_generators
from dispatchviz.core.native.random.generator import manual_seed as manual_seed
from dispatchviz.core.tensor.tensor import Tensor

default_generator: Generator = default_generators["cpu"]
"""The default generator of the CPU."""


def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the CPU's default generator."""
    default_generator.set_state(new_state)


def get_rng_state() -> Tensor:
    """Return the state of the CPU's default generator, a tensor of bytes."""
    return default_generator.get_state()


def seed() -> int:
    """Seed all default generators with a nondeterministic number and return it."""
    value = default_generator.seed()
    default_generators["cuda"].manual_seed(value)
    return value


def initial_seed() -> int:
    """Return the seed from which the CPU's default generator started."""
    return default_generator.initial_seed()


@contextmanager
def fork_rng(
    devices: Iterable[object] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Iterator[None]:
    """Restore the states of the generators after the block.

    Raise RuntimeError for a kind of device that the model does not have.
    """
    if device_type not in (None, "meta", *default_generators):
        raise RuntimeError(
            f"torch has no module of `{device_type}`, you should register a module by `torch._register_device_module`."
        )
    if device_type == "meta" or not enabled:
        yield
        return
    kinds = ("cpu", "cuda") if devices is None or list(devices) else ("cpu",)
    states = {kind: default_generators[kind].state_bytes() for kind in kinds}
    try:
        yield
    finally:
        for kind, state in states.items():
            default_generators[kind].restore(state)
