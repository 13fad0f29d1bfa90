"""``DataLoader`` in one process (``torch/utils/data/dataloader.py``)."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.utils.data.collate import default_collate, default_convert
from dispatchviz.torch.utils.data.dataset import IterableDataset
from dispatchviz.torch.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

_PROFILE_NAME = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
"""Attributes that cannot be changed after construction."""


class DataLoader:
    """Batches of a data set. Raise ValueError for options that exclude each other.

    NB: in PyTorch, ``num_workers`` processes load samples, so the program's own log does not show their operators. Here
    this process loads them, and warns about it.
    """

    __initialized = False

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
        _check_context(multiprocessing_context, num_workers)
        streamed = isinstance(dataset, IterableDataset)
        if streamed:
            _check_stream(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.persistent_workers = persistent_workers
        self.worker_init_fn = worker_init_fn
        self.timeout = timeout
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.in_order = in_order
        self.generator = generator
        if sampler is None and streamed:
            sampler = _InfiniteConstantSampler()
        elif sampler is None:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self._reported: int | None = None
        """The length that the data set returned last."""
        self.__initialized = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__initialized and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __iter__(self) -> _SingleProcessDataLoaderIter:
        return _SingleProcessDataLoaderIter(self)

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)
        length = self._reported = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size)


class _SingleProcessDataLoaderIter:
    """One iteration over the batches. It first samples a seed, which workers would receive."""

    def __init__(self, loader: DataLoader) -> None:
        self._loader = loader
        self._reported = loader._reported
        if loader.pin_memory and not torch.accelerator.is_available():
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
                "used.",
                stacklevel=2,
            )
        self._sampler_iter = iter(loader._index_sampler)
        self._base_seed = torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item()
        self._samples = iter(loader.dataset) if isinstance(loader.dataset, IterableDataset) else None
        self._ended = False
        self._num_yielded = 0

    def __iter__(self) -> _SingleProcessDataLoaderIter:
        return self

    def __len__(self) -> int:
        return len(self._loader._index_sampler)

    def __next__(self) -> Any:
        with torch.autograd.profiler.record_function(_PROFILE_NAME):
            numbers = next(self._sampler_iter)
            fetched = self._fetched(numbers) if self._samples is None else self._streamed(numbers)
            batch = self._loader.collate_fn(fetched)
            self._num_yielded += 1
            reported = self._reported
            if self._samples is not None and reported is not None and self._num_yielded > reported:
                warnings.warn(
                    f"Length of IterableDataset {self._loader.dataset} was reported to be {reported}(when accessing "
                    f"len(dataloader)), but {self._num_yielded} samples have been fetched. ",
                    stacklevel=2,
                )
            return batch

    def _fetched(self, numbers: Any) -> Any:
        dataset = self._loader.dataset
        if not self._loader._auto_collation:
            return dataset[numbers]
        several = getattr(dataset, "__getitems__", None)
        return several(numbers) if several else [dataset[number] for number in numbers]

    def _streamed(self, numbers: Any) -> Any:
        assert self._samples is not None
        if self._ended:
            raise StopIteration
        if not self._loader._auto_collation:
            return next(self._samples)
        batch = list(itertools.islice(self._samples, len(numbers)))
        self._ended = len(batch) < len(numbers)
        if not batch or (self._ended and self._loader.drop_last):
            raise StopIteration
        return batch


class _InfiniteConstantSampler(Sampler[None]):
    """The sampler of iterable data sets, which take no indices."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


def _check_context(context: Any, num_workers: int) -> None:
    """Raise ValueError for a multiprocessing context without workers."""
    if context is not None and num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
            f"num_workers={num_workers}"
        )


def _check_stream(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    """Raise ValueError for options that an iterable data set does not support."""
    unwanted = (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler))
    for name, value in unwanted:
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
            )


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    """Raise ValueError for options that only workers use. Warn of workers."""
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
            "dispatchviz's model of PyTorch has no worker processes, so this process loads the samples",
            stacklevel=3,
        )


def get_worker_info() -> None:
    """Return None: this process is not a worker."""
