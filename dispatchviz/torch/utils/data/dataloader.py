"""``DataLoader`` of one process (``torch/utils/data/dataloader.py``)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

from dispatchviz.torch._face import torch
from dispatchviz.torch.utils.data.collate import default_collate, default_convert
from dispatchviz.torch.utils.data.dataset import IterableDataset
from dispatchviz.torch.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler

_PROFILE_NAME = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
_END = object()


class DataLoader:
    """Batches of a data set. ValueError for options that exclude each other.

    NB: in PyTorch, ``num_workers`` processes load samples, whose operators the program's own log does not show; here
    this process loads them, and says so.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Any = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.persistent_workers = persistent_workers
        self.worker_init_fn = worker_init_fn
        self.timeout = timeout
        self.pin_memory = pin_memory
        self.generator = generator
        if sampler is None and not isinstance(dataset, IterableDataset):
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None and sampler is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        batches = batch_sampler is not None or batch_size is not None
        self.collate_fn = collate_fn or (default_collate if batches else default_convert)

    def __iter__(self) -> Iterator[Any]:
        """Draws a seed, which workers would be given, then the batches."""
        torch.empty((), dtype=torch.int64).random_(generator=self.generator).item()
        batches = self._batches()
        while True:
            with torch.autograd.profiler.record_function(_PROFILE_NAME):
                batch = next(batches, _END)
            if batch is _END:
                return
            yield batch

    def _batches(self) -> Iterator[Any]:
        if isinstance(self.dataset, IterableDataset):
            yield from self._streamed()
        elif self.batch_sampler is not None:
            for numbers in self.batch_sampler:
                yield self.collate_fn(self._fetched(numbers))
        else:
            for number in self.sampler:
                yield self.collate_fn(self.dataset[number])

    def _fetched(self, numbers: list[int]) -> Any:
        several = getattr(self.dataset, "__getitems__", None)
        return several(numbers) if several else [self.dataset[number] for number in numbers]

    def _streamed(self) -> Iterator[Any]:
        samples = iter(self.dataset)
        if self.batch_size is None:
            yield from map(self.collate_fn, samples)
            return
        while True:
            batch = [sample for _, sample in zip(range(self.batch_size), samples, strict=False)]
            if not batch or (self.drop_last and len(batch) < self.batch_size):
                return
            yield self.collate_fn(batch)

    def __len__(self) -> int:
        return len(self.batch_sampler if self.batch_sampler is not None else self.sampler)


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    """ValueError for options that are for workers only; warns of workers."""
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")
    if num_workers:
        warnings.warn(
            "dispatchviz's model of PyTorch has no worker processes: samples are loaded here, as with num_workers=0",
            stacklevel=3,
        )


def get_worker_info() -> None:
    """None: this is no worker."""
