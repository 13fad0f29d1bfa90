"""The programs whose sentences are checked: those recorded on PyTorch, and random ones."""

from __future__ import annotations

from tests.amounts import amount, in_turn
from tests.claims import pruning_programs
from truth.programs import PROGRAMS
from truth.questions.autograd_programs import program

RANDOM = amount(40, 300)
"""The seeds of random autograd programs, besides the stored programs."""

LEFT_OUT = ("threading", "# no log")
"""The programs whose steps come in another order each time (threads), or that have no PyTorch to compare with
(meta).
"""


def programs() -> dict[str, str]:
    """The source text of each program; in the gate, every second stored one."""
    random = {f"random_{seed}": program(seed) for seed in range(RANDOM)}
    stored = {
        name: text for name, text in in_turn([*PROGRAMS.items()], 2) if not any(word in text for word in LEFT_OUT)
    }
    pruning = {f"pruning_{seed}": pruning_programs.program(seed) for seed in range(RANDOM)}
    return stored | random | pruning
