"""The engine of the runs that ``diff`` compares. All of them run on one, because two engines record different facts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dispatchviz.cli.chosen_engine import announced, chosen_engine
from dispatchviz.running.engine_choice.choice import ON_MODEL, Choice
from dispatchviz.running.engine_choice.requested_engine import RequestedEngine


class Machine(NamedTuple):
    """The engine, and the device behind ``cuda``."""

    choice: Choice
    cuda: str

    @property
    def typed(self) -> tuple[str, ...]:
        """The options of ``diff`` that repeat the comparison."""
        if self.choice.engine == "torch":
            return ("--engine", "torch")
        return () if self.cuda == "auto" else ("--cuda", self.cuda)


def machine_for(option: RequestedEngine | None, cuda: str, scripts: Iterable[str]) -> Machine:
    """Choose the engine, the installed PyTorch if one of the scripts needs it, and print the reason.

    Raise DispatchvizError as ``chosen_engine`` does.
    """
    choices = [chosen_engine(option, script, cuda) for script in scripts]
    best = max(choices, key=lambda choice: (choice.engine == "torch", choice.reason), default=ON_MODEL)
    return Machine(announced(best), cuda)
