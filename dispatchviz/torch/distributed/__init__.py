"""``torch.distributed`` for a program that runs in one process, without a process group
(``torch/distributed/distributed_c10d.py``).

NB: process groups are not part of the model, so ``init_process_group`` raises. Functions that need a group fail with
PyTorch's messages.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import IntEnum
from typing import Any, NoReturn

from dispatchviz.torch.missing_names import stub as _stub


def needs_a_group(name: str) -> Callable[..., NoReturn]:
    """Return a function that fails as PyTorch's does without a process group."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Raise ValueError: there is no process group."
    return function


def is_available() -> bool:
    """Return False, as a PyTorch build without distributed does. NB: PyTorch's packages are built with it."""
    return False


def is_initialized() -> bool:
    """Return False: there is no default process group."""
    return False


def is_gloo_available() -> bool:
    """Return True, as PyTorch's packages do."""
    return True


def is_nccl_available() -> bool:
    """Return False, as PyTorch's packages for the CPU do."""
    return False


def is_mpi_available() -> bool:
    """Return False, as PyTorch's packages do."""
    return False


def is_torchelastic_launched() -> bool:
    """Return whether ``torchrun`` started the process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


@_stub
def init_process_group(backend: str | None = None, init_method: str | None = None, **options: Any) -> NoReturn:
    """Raise NotImplementedError."""
    raise NotImplementedError("dispatchviz's model of PyTorch runs in one process and has no process groups")


def destroy_process_group(group: Any = None) -> NoReturn:
    """Raise AssertionError: there is no process group."""
    raise AssertionError("Process group cannot be None")


class ReduceOp:
    """The reduction of a collective."""

    class RedOpType(IntEnum):
        """The kinds of reductions."""

        SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)

        def __str__(self) -> str:
            return f"RedOpType.{self.name}"

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = RedOpType


class ProcessGroup:
    """The class of process groups, for annotations. It has no instances."""


class Work:
    """The class of the results of asynchronous calls, for annotations. It has no instances."""


class group:
    """The groups that always exist."""

    WORLD: ProcessGroup | None = None


class GroupMember:
    """The group of a process outside of a group."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


globals().update(
    {
        name: needs_a_group(name)
        for name in (
            *("get_rank", "get_world_size", "get_backend", "new_group", "barrier", "monitored_barrier"),
            *("all_reduce", "reduce", "broadcast", "all_gather", "gather", "scatter", "reduce_scatter", "all_to_all"),
            *("all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single", "send", "recv", "isend", "irecv"),
            *("all_gather_object", "broadcast_object_list", "gather_object", "scatter_object_list"),
        )
    }
)
