"""Results of random registration histories on an installed PyTorch.

The file has ``torch``, its version; ``seen``, the results of ``truth/questions/registration_histories.py`` for each
history of seed 0; and ``orders``, PyTorch's operator for every subset of each case of ``registration_orders``.
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
