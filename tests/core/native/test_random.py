"""Generators: PyTorch's streams, states and refusals. The samples of operators are in ``truth/programs/random.txt``."""

from __future__ import annotations

import copy
import hashlib
import pickle
import struct
from collections.abc import Iterator

import pytest

from dispatchviz import torch
from dispatchviz.core.device.device import CPU, CUDA
from dispatchviz.core.native.random import generator as random
from dispatchviz.core.native.random.generator import DEFAULT_SEED, Generator, manual_seed


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    manual_seed(DEFAULT_SEED)
    yield
    manual_seed(DEFAULT_SEED)


def test_seeds_0_and_42_give_pytorchs_numbers() -> None:
    manual_seed(0)
    assert str(torch.randn(2, 2)) == "tensor([[ 1.5410, -0.2934],\n        [-2.1788,  0.5684]])"
    manual_seed(42)
    assert str(torch.rand(3)) == "tensor([0.8823, 0.9150, 0.3829])"


@pytest.mark.parametrize(
    ("dtype", "digest"),
    [
        (torch.float32, "0e1052dc"),
        (torch.float64, "40879645"),
        (torch.float16, "20342bbb"),
        (torch.bfloat16, "197be1e2"),
    ],
)
def test_100000_normal_numbers_have_pytorchs_bits(dtype: torch.dtype, digest: str) -> None:
    """The digests are PyTorch's own."""
    manual_seed(0)
    numbers = torch.randn(100_003, dtype=dtype)._array
    assert hashlib.sha256(numbers.tobytes()).hexdigest()[:8] == digest


def test_a_seed_repeats_the_numbers() -> None:
    first = torch.randn(3, 4).tolist()
    assert torch.randn(3, 4).tolist() != first
    manual_seed(DEFAULT_SEED)
    assert torch.randn(3, 4).tolist() == first


def test_every_process_starts_from_the_same_seed() -> None:
    assert Generator().initial_seed() == DEFAULT_SEED
    assert torch.randn(2).tolist() == torch.randn(2, generator=Generator()).tolist()


def test_each_device_has_its_own_generator() -> None:
    on_cpu = torch.randn(4).tolist()
    assert torch.randn(4, device="cuda").tolist() == on_cpu, "cuda starts from the same seed and did not move"
    assert random.default_generators["cpu"] is not random.default_generators["cuda"]


def test_a_generator_leaves_the_default_one_alone() -> None:
    expected = torch.rand(2).tolist()
    manual_seed(DEFAULT_SEED)
    torch.rand(5, generator=Generator().manual_seed(1))
    assert torch.rand(2).tolist() == expected


def test_a_generator_of_another_device_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
        torch.ones(2, device="cuda").normal_(generator=Generator(CPU))
    assert torch.randn(2, device="cuda", generator=Generator(CUDA)).device.type == "cuda"


def test_seed_is_new_each_time() -> None:
    generator = Generator()
    assert generator.seed() != generator.seed()
    assert generator.manual_seed(-1).initial_seed() == (1 << 64) - 1


@pytest.mark.parametrize("seed", ["a", 1.5])
def test_seed_that_is_no_int_is_refused(seed: object) -> None:
    with pytest.raises(RuntimeError, match=f"manual_seed expected a long, but got {type(seed).__name__}"):
        Generator().manual_seed(seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [1 << 64, -(1 << 63) - 1])
def test_seed_of_more_than_64_bits_is_refused(seed: int) -> None:
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        Generator().manual_seed(seed)


def test_a_state_that_no_generator_wrote_is_refused() -> None:
    generator = Generator()
    with pytest.raises(TypeError, match=r"RNG state must be a torch\.ByteTensor"):
        generator.set_state(torch.zeros(3))
    with pytest.raises(TypeError, match=r"expected a torch\.ByteTensor, but got list"):
        generator.set_state([1])  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="of size 5056 but found the input RNG state size to be 3"):
        generator.set_state(torch.zeros(3, dtype=torch.uint8))
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        generator.set_state(torch.zeros(5056, dtype=torch.uint8))


def test_state_counts_drawn_words() -> None:
    generator = Generator()
    heads = []
    for count in (0, 1, 622, 1, 1):
        torch.randint(9, (count,), generator=generator)
        heads.append(struct.unpack_from("<QiiQ", generator.state_bytes()))
    places = [(left, drawn) for _, left, _, drawn in heads]
    assert places == [(1, 0), (624, 1), (2, 623), (1, 624), (624, 1)]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g)), Generator.clone_state])
def test_copied_generator_continues_the_same_stream(copied: object) -> None:
    generator = Generator().manual_seed(7)
    torch.randn(3, generator=generator)
    other = copied(generator)  # type: ignore[operator]
    assert torch.randn(20, generator=generator).tolist() == torch.randn(20, generator=other).tolist()


def test_log_normal_overflows_to_infinity() -> None:
    assert torch.empty(2, dtype=torch.float64).log_normal_(1e6, 1).tolist() == [float("inf")] * 2


@pytest.mark.parametrize(
    ("device", "said"),
    [("ipu", "IPU device type not an accelerator"), ("xpu:1", "without ATen_xpu"), ("hip", "Backend doesn`t support")],
)
def test_missing_device_has_no_generator(device: str, said: str) -> None:
    """Compare with PyTorch's answers in ``tests/conformance/test_devices_live.py``."""
    with pytest.raises(RuntimeError, match=said):
        Generator(device)
