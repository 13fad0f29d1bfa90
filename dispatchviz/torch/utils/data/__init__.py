"""``torch.utils.data``: data sets, samplers, and loaders in one process.

NB: in PyTorch, there are worker processes, pinned memory and data pipes.
"""

from __future__ import annotations

from dispatchviz.torch.utils.data import dataloader as dataloader
from dispatchviz.torch.utils.data.collate import default_collate as default_collate
from dispatchviz.torch.utils.data.collate import default_convert as default_convert
from dispatchviz.torch.utils.data.dataloader import DataLoader as DataLoader
from dispatchviz.torch.utils.data.dataloader import get_worker_info as get_worker_info
from dispatchviz.torch.utils.data.dataset import ChainDataset as ChainDataset
from dispatchviz.torch.utils.data.dataset import ConcatDataset as ConcatDataset
from dispatchviz.torch.utils.data.dataset import Dataset as Dataset
from dispatchviz.torch.utils.data.dataset import IterableDataset as IterableDataset
from dispatchviz.torch.utils.data.dataset import StackDataset as StackDataset
from dispatchviz.torch.utils.data.dataset import Subset as Subset
from dispatchviz.torch.utils.data.dataset import TensorDataset as TensorDataset
from dispatchviz.torch.utils.data.dataset import random_split as random_split
from dispatchviz.torch.utils.data.distributed import DistributedSampler as DistributedSampler
from dispatchviz.torch.utils.data.sampler import BatchSampler as BatchSampler
from dispatchviz.torch.utils.data.sampler import RandomSampler as RandomSampler
from dispatchviz.torch.utils.data.sampler import Sampler as Sampler
from dispatchviz.torch.utils.data.sampler import SequentialSampler as SequentialSampler
from dispatchviz.torch.utils.data.sampler import SubsetRandomSampler as SubsetRandomSampler
from dispatchviz.torch.utils.data.sampler import WeightedRandomSampler as WeightedRandomSampler

for _class in [*globals().values(), *vars(dataloader).values()]:
    if isinstance(_class, type) and _class.__module__.startswith(__name__):
        _class.__module__ = _class.__module__.removeprefix("dispatchviz.")
