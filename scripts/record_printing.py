"""Stores what a real PyTorch prints, in tests/data/printed_tensors.json.gz: ``python -m scripts.record_printing``."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import torch

from scripts.printing_questions import IN_TRANSFORMS, answer, questions

STORED = Path(__file__).parent.parent / "tests" / "data" / "printed_tensors.json.gz"
COUNT = 600


def main() -> None:
    asked = [*IN_TRANSFORMS, *questions(0, COUNT)]
    document = {"torch": torch.__version__.partition("+")[0], "printed": {one: answer(torch, one) for one in asked}}
    with gzip.GzipFile(STORED, "wb", mtime=0) as stream:
        stream.write(json.dumps(document, indent=0, sort_keys=True).encode())
    print(f"{len(document['printed'])} questions, {STORED.stat().st_size} bytes")


if __name__ == "__main__":
    main()
