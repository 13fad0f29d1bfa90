"""Writes what an installed PyTorch makes of random registration histories to ``tests/data``.

    python scripts/snapshot_histories.py

Needs torch and nothing else. ``registration_histories.json.gz`` has ``torch``, its version, and ``seen``: for each of
the histories of seed 0 what ``registration_histories.History`` saw; and ``orders``: for each of the cases of
``registration_orders`` what PyTorch makes of every subset.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import torch
from registration_histories import History, histories
from registration_orders import CASES, by_subset

DATA = Path(__file__).parent.parent / "tests/data/registration_histories.json.gz"
STORED = 250


def main() -> None:
    """Writes the file."""
    seen = [History(torch._C, number).run(steps) for number, steps in enumerate(histories(0, STORED))]
    orders = {name: by_subset(torch._C, case) for name, case in CASES.items()}
    data = {"torch": torch.__version__.partition("+")[0], "seen": seen, "orders": orders}
    DATA.write_bytes(gzip.compress(json.dumps(data, separators=(",", ":")).encode(), mtime=0))


if __name__ == "__main__":
    main()
