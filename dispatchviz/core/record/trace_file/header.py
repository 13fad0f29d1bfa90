"""The header of a trace: the facts that hold for all of it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

import msgspec

from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.pytorch_release import RELEASE

FORMAT = 3
"""The version of the format. A reader refuses a higher one. Since 2, meta and impl are spans. Since 3, there are
``.dvtrace`` files, and the ready queue is recorded by its pushes and pops.
"""


class TraceError(DispatchvizError):
    """The error for a trace file that cannot be read. The message has the file, the reason, and the remedy."""


class KeyLayout(msgspec.Struct, frozen=True):
    """The numbers of the keys of a PyTorch release."""

    backends: tuple[str, ...]
    """The backends of the lowest bits of a key set, the lowest first: ``CPU``."""
    keys: tuple[str, ...]
    """The functionalities, whose bits follow, lowest priority first: ``Dense``."""


class Filling(msgspec.Struct, frozen=True, array_like=True):
    """The kernel in a dispatch table entry. All fields of an empty entry are empty."""

    kernel: str = ""
    reason: str = ""
    """PyTorch's tag."""
    source: str = ""
    """The key or alias under which the kernel is registered."""
    registered: str = ""
    """The place of the registration."""


class KeptTables(msgspec.Struct, frozen=True):
    """The dispatch tables of a PyTorch release, for the operators that a program called."""

    fillings: tuple[Filling, ...]
    operators: Mapping[str, tuple[int, ...]]
    """The entries of each operator by its full name, in the order of its table, as indices in ``fillings``."""
    schemas: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The schemas of those operators that PyTorch 2.14 does not have, or that have another schema there."""


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """A process among those that one program started."""

    name: str
    """Its name among them: ``main``, ``rank1``, ``worker0`` of a DataLoader, ``rank1.worker0``, ``process4242``."""
    number: int
    """Its number on the machine (``os.getpid()``)."""
    parent: int
    """The number of the process that started it; 0 for the first one."""
    began: int
    """The time at which its recording began, in nanoseconds since 1970."""
    launch: str
    """A text that all processes of one run have in common."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about the whole trace."""

    format: Annotated[int, msgspec.Meta(ge=0, le=9999)] = FORMAT
    engine: str = "model"
    """``model`` or ``torch``."""
    chosen: str | msgspec.UnsetType = msgspec.UNSET
    """Why ``--engine auto`` chose it; unset if the user named it, and for the model if it has all names."""
    pytorch: str = RELEASE
    """The release whose rules apply."""
    cuda: str
    """The library that computes for ``cuda``: ``CuPy``, ``emulated on NumPy (reason)`` or ``none (reason)``; for an
    installed PyTorch, a GPU's name or ``none (CPU build)``.
    """
    build: str = ""
    """An installed PyTorch, in words: ``PyTorch 2.14.1+cpu, CPU build, release``; empty for the model."""
    blind_spots: tuple[str, ...] = ()
    """A sentence for each fact of that PyTorch that cannot be observed."""
    differs: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """A sentence for each difference between its keys and those of PyTorch 2.14."""
    layout: KeyLayout | msgspec.UnsetType = msgspec.UNSET
    """Its numbers of keys, if they are not those of PyTorch 2.14. The events use the numbers of PyTorch 2.14."""
    tables: KeptTables | msgspec.UnsetType = msgspec.UNSET
    """Its dispatch tables at the end of the recording, if it is not PyTorch 2.14."""
    program: str
    """File name of the program, as the user gave it."""
    arguments: tuple[str, ...] = ()
    """The arguments of the program's command line."""
    only: tuple[str, ...] = ()
    """The selection of events, as ``--only`` takes it; empty if all were kept."""
    rank: int = 0
    """The rank of the process in a distributed program (the environment's ``RANK``)."""
    process: Process | msgspec.UnsetType = msgspec.UNSET
    """The process, if all processes of the program were recorded (``--ranks``)."""
    remarks: tuple[str, ...] = ()
    """A sentence for each part of the run that is missing in the trace: a forked process, steps beyond a limit."""
    checked: str | msgspec.UnsetType = msgspec.UNSET
    """The result of ``dispatchviz check``: the PyTorch, the time, the number of differences. Unset if it did not
    run.
    """
    sources: Mapping[str, str] = MappingProxyType({})
    """Texts of files by name."""

    def __reduce__(self) -> tuple[object, ...]:
        """Return a form that can be pickled, since an immutable mapping cannot."""
        values = msgspec.structs.asdict(self)
        return _unpickled, (type(self), values | {"sources": dict(self.sources)})

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "sources", MappingProxyType(dict(self.sources)))


def _unpickled(kind: type[Header], values: dict[str, object]) -> Header:
    return kind(**values)  # type: ignore[arg-type]
