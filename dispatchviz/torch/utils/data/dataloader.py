"""``DataLoader`` of one process (``torch/utils/data/dataloader.py``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dispatchviz.torch._face import torch
from dispatchviz.torch.utils.data.collate import default_collate
from dispatchviz.torch.utils.data.dataset import IterableDataset
from dispatchviz.torch.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler

_PROFILE_NAME = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
_END = object()


class DataLoader:
    """Batches of a data set. ValueError for options that exclude each other.

    NB: in PyTorch, ``num_workers`` processes load samples; here there are none.
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
        *,
        generator: Any = None,
    ) -> None:
        if num_workers:
            raise NotImplementedError("worker processes are not in dispatchviz's model of PyTorch: num_workers=0")
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
        self.num_workers = 0
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
        self.collate_fn = collate_fn or (default_collate if batches else lambda sample: sample)

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
