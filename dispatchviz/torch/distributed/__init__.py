"""``torch.distributed`` as a program finds it that runs alone: no process group was made
(``torch/distributed/distributed_c10d.py``).

NB: none can be made here, so ``init_process_group`` refuses; what needs one fails in PyTorch's words.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import IntEnum
from typing import Any, NoReturn


def needs_a_group(name: str) -> Callable[..., NoReturn]:
    """A function that fails as it does where no process group was made."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "ValueError: there is no process group."
    return function


def is_available() -> bool:
    """False, as in a PyTorch that was built without it. NB: PyTorch's packages are built with it."""
    return False


def is_initialized() -> bool:
    """False: there is no default process group."""
    return False


def is_gloo_available() -> bool:
    """As in PyTorch's packages."""
    return True


def is_nccl_available() -> bool:
    """As in PyTorch's packages for the CPU."""
    return False


def is_mpi_available() -> bool:
    """As in PyTorch's packages."""
    return False


def is_torchelastic_launched() -> bool:
    """Return whether ``torchrun`` started the process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def init_process_group(backend: str | None = None, init_method: str | None = None, **options: Any) -> NoReturn:
    """NotImplementedError."""
    raise NotImplementedError("dispatchviz's model of PyTorch runs in one process: it has no process groups")


def destroy_process_group(group: Any = None) -> NoReturn:
    """AssertionError: there is none."""
    raise AssertionError("Process group cannot be None")


class ReduceOp:
    """The reduction of a collective."""

    class RedOpType(IntEnum):
        """Its kinds."""

        SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)

        def __str__(self) -> str:
            return f"RedOpType.{self.name}"

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = RedOpType


class ProcessGroup:
    """The class of process groups, for annotations: there is none."""


class Work:
    """The class of what asynchronous calls give, for annotations: there is none."""


class group:
    """Groups that always are."""

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
