"""Generators: the same program draws the same numbers; seeds and devices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pytest

from dispatchviz import torch
from dispatchviz.core.device import CPU, CUDA
from dispatchviz.core.native import random
from dispatchviz.core.native.random import DEFAULT_SEED, Generator, manual_seed


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    manual_seed(DEFAULT_SEED)
    yield
    manual_seed(DEFAULT_SEED)


def test_a_seed_repeats_the_numbers() -> None:
    first = torch.randn(3, 4).tolist()
    assert torch.randn(3, 4).tolist() != first
    manual_seed(DEFAULT_SEED)
    assert torch.randn(3, 4).tolist() == first


def test_every_process_starts_from_the_same_seed() -> None:
    assert Generator().initial_seed() == DEFAULT_SEED
    assert torch.randn(2).tolist() == Generator().normal((2,), wide=False).tolist()


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
        torch.randn(2, device="cuda", generator=Generator(CPU))
    assert torch.randn(2, device="cuda", generator=Generator(CUDA)).device.type == "cuda"


def test_seed_is_new_each_time() -> None:
    generator = Generator()
    assert generator.seed() != generator.seed()
    assert generator.manual_seed(-1).initial_seed() == (1 << 64) - 1


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_distributions(dtype: torch.dtype) -> None:
    normal = torch.empty(100, 100, dtype=dtype).normal_(3, 2).double()._array
    assert abs(normal.mean() - 3) < 0.1
    assert abs(normal.std() - 2) < 0.1
    uniform = torch.empty(100, 100, dtype=dtype).uniform_(-1, 3).double()._array
    assert -1 <= uniform.min() < -0.9
    assert 2.9 < uniform.max() <= 3


def test_strides_do_not_change_the_numbers() -> None:
    rows = torch.empty(2, 3).normal_().tolist()
    manual_seed(DEFAULT_SEED)
    assert torch.empty(3, 2).t().normal_().tolist() == rows


def test_complex_numbers_have_variance_one() -> None:
    numbers = torch.empty(200, 50, dtype=torch.complex64).normal_()._array
    assert abs(numpy.abs(numbers).std() ** 2 + numpy.abs(numbers).mean() ** 2 - 1) < 0.05
