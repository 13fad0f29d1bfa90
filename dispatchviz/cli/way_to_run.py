"""The engine and the device that the options of a command choose for the programs that it runs."""

from __future__ import annotations

from typing import NamedTuple

from dispatchviz.running.recording import EngineName


class WayToRun(NamedTuple):
    """The values of ``--engine`` and ``--cuda``."""

    engine: EngineName = "model"
    cuda: str = "auto"

    @property
    def options(self) -> tuple[str, ...]:
        """The options as they are typed, without those that have their default."""
        engine = () if self.engine == "model" else ("--engine", self.engine)
        return (*engine, *(() if self.cuda == "auto" else ("--cuda", self.cuda)))
