"""Collectives of ``torch.distributed``: which one a process hands to the backend of which process group, and when."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder
from dispatchviz.live.tensor_facts import tensors_in

if TYPE_CHECKING:
    from dispatchviz.live.live_recorder import LiveRecorder
    from dispatchviz.live.watched_cells import Step

_NO_COLLECTIVES = frozenset({"c10d::send", "c10d::recv_", "c10d::recv_any_source_", "c10d::check_for_nan"})
"""Operators of c10d that only one or two ranks call."""

_ROOTED = frozenset({"c10d::broadcast_", "c10d::reduce_", "c10d::scatter_", "c10d::gather_"})
"""Operators with a root. Its rank in the group is the first integer among the arguments."""

_OUTPUTS_FIRST = frozenset(
    {
        "c10d::allgather_", "c10d::_allgather_base_", "c10d::allgather_coalesced_", "c10d::gather_",
        "c10d::allgather_into_tensor_coalesced_", "c10d::reduce_scatter_", "c10d::_reduce_scatter_base_",
        "c10d::reduce_scatter_tensor_coalesced_", "c10d::alltoall_", "c10d::alltoall_base_",
    }
)  # fmt: skip
"""Operators whose first argument is the outputs, and whose second is the inputs."""


def is_collective(operator: str, key: str) -> bool:
    """Return whether a cell has the kernel that hands a collective to a backend."""
    return operator.startswith("c10d::") and operator not in _NO_COLLECTIVES and not key.startswith("Autograd")


class Group(NamedTuple):
    """A process group."""

    name: str
    ranks: tuple[int, ...]
    """The global ranks of its members."""
    rank: int
    """The global rank of this process."""


class Collectives:
    """The collectives of a recording, counted in each process group."""

    def __init__(self, watch: LiveRecorder) -> None:
        self._watch = watch
        self._count = Counter[str]()

    def begin_in_child(self) -> None:
        """Count from 0 again, in a forked child."""
        self._count.clear()

    def step(self, operator: str, call: Step) -> Step:
        """Return a function that records the collective before it hands it on through ``call``."""

        def step(*args: Any, **kwargs: Any) -> Any:
            watch = self._watch
            if recorder.listening is watch and watch.thread.watched:
                now = time.time_ns()
                watch.guarded(lambda: self._called(operator, (*args[1:], *kwargs.values()), now))
            return call(*args, **kwargs)

        return step

    def _called(self, operator: str, arguments: Sequence[Any], now: int) -> None:
        group = self._group(arguments)
        given = tensors_in(arguments[1 if operator in _OUTPUTS_FIRST else 0], self._watch.torch.Tensor)
        numbers = [value for value in arguments if type(value) is int]
        root = group.ranks[numbers[0]] if operator in _ROOTED and numbers[0] < len(group.ranks) else -1
        self._watch.met_rank(group.rank)
        number, self._count[group.name] = self._count[group.name], self._count[group.name] + 1
        elements, dtype = sum(one.numel() for one in given), str(given[0].dtype).removeprefix("torch.") if given else ""
        self._watch._emit(
            ev.CollectiveCalled, operator, group.name, group.ranks, group.rank, number, elements, dtype, root, now
        )
        if self._watch.stream is not None:  # a process that is killed while it waits has the call in its file
            self._watch.hand_over()

    def _group(self, arguments: Sequence[Any]) -> Group:
        c10d = self._watch.torch.distributed.distributed_c10d
        boxed = next(one for one in arguments if isinstance(one, self._watch.torch.ScriptObject))
        found = c10d.ProcessGroup.unbox(boxed)
        world = next((one for one in c10d._world.pg_names if one.group_name == found.group_name), None)
        members = c10d._world.pg_group_ranks.get(world) or {rank: rank for rank in range(found.size())}
        ranks = tuple(sorted(members, key=members.__getitem__))
        name = "default" if world is not None and world is c10d.GroupMember.WORLD else found.group_name
        return Group(name, ranks, ranks[found.rank()])
