"""The programs whose sentences are checked: those recorded on PyTorch, and random ones."""

from __future__ import annotations

from tests.amounts import amount, in_turn
from tests.claims import pruning_programs
from truth.programs import PROGRAMS
from truth.questions.autograd_programs import program

RANDOM = amount(40, 300)
"""The number of random programs about autograd, in addition to the stored programs."""

LEFT_OUT = ("threading", "# no log")
"""Programs that are left out: those with several threads, whose order varies, and those on the meta device."""


def programs() -> dict[str, str]:
    """Return name -> source text. The gate takes half of the stored programs, in rotation."""
    random = {f"random_{seed}": program(seed) for seed in range(RANDOM)}
    stored = {
        name: text for name, text in in_turn([*PROGRAMS.items()], 2) if not any(word in text for word in LEFT_OUT)
    }
    pruning = {f"pruning_{seed}": pruning_programs.program(seed) for seed in range(RANDOM)}
    return stored | random | pruning
