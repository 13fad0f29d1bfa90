"""``DistributedSampler`` (``torch/utils/data/distributed.py``): the part of the indices for one process."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.utils.data.sampler import Sampler


class DistributedSampler(Sampler[Any]):
    """Every ``num_replicas``-th index, beginning with ``rank``.

    Raise ValueError for a rank out of range, or if either is missing. NB: ``torch.distributed`` cannot provide them.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise ValueError("Default process group has not been initialized, please call init_process_group.")
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)
        if drop_last and count % num_replicas != 0:
            count -= num_replicas
        self.num_samples = math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        indices = list(range(count))
        if self.shuffle:
            generator = torch.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = torch.randperm(count, generator=generator).tolist()
        missing = self.total_size - count
        if missing > 0:
            indices += (indices * math.ceil(missing / count))[:missing]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose another order for each epoch."""
        self.epoch = epoch
