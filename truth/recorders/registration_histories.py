"""Results of random registration histories on an installed PyTorch.

The file has ``torch``, its version, and ``seen``: for each of the histories of seed 0 what
``truth/questions/registration_histories.py`` saw; and ``orders``: for each of the cases of ``registration_orders`` what
PyTorch makes of every subset.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch

from truth import records
from truth.formats.json_text import json_text
from truth.questions.registration_histories import History, histories
from truth.questions.registration_orders import CASES, by_subset

STORED = 250


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    seen = [History(torch._C, number).run(steps) for number, steps in enumerate(histories(0, STORED))]
    orders = {name: by_subset(torch._C, case) for name, case in CASES.items()}
    data = {"torch": torch.__version__.partition("+")[0], "seen": seen, "orders": orders}
    yield records.HERE / "registration_histories.json.gz", json_text(data)
