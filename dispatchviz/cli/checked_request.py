"""The request of ``dispatchviz check`` to the process of one of its two runs, and the files that the two share."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from dispatchviz.running.engine_choice.requested_engine import EngineName


class CheckedRequest(msgspec.Struct, frozen=True):
    """A request for one of the two runs."""

    engine: EngineName
    kind: Literal["file", "code", "module"]
    program: str
    arguments: tuple[str, ...]
    cuda: str
    save: str
    """The file for the trace."""


def snapshot_beside(save: str) -> Path:
    """Return the file for a snapshot of the installed PyTorch; only a release other than the model's gets one."""
    return Path(save).with_suffix(".json")
