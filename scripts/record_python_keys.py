"""Writes down what an installed PyTorch prints for the programs of ``python_keys.txt``: modes and tensor subclasses.

    python -m scripts.record_python_keys

The programs print what ``__torch_dispatch__`` sees. Answers go to ``tests/data/python_keys.json``; the tests run the
same programs on the model.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path

_HERE = Path(__file__).parent
SOURCE = _HERE / "python_keys.txt"
STORED = _HERE.parent / "tests" / "data" / "python_keys.json"


def programs() -> dict[str, str]:
    """Name to source text."""
    parts = re.split(r"^## (\w+)$", SOURCE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    named = dict(zip(parts[::2], parts[1::2], strict=True))
    prelude = named.pop("prelude").strip()
    return {name: f"{prelude}\n\n\n{body.strip()}\n" for name, body in named.items()}


def printed(source: str) -> list[str]:
    """Runs a program under whatever ``import torch`` gives; what it prints, line by line."""
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        exec(compile(source, "program.py", "exec"), {"__name__": "__main__"})
    return stream.getvalue().splitlines()


def main() -> None:
    """Runs every program and writes the file."""
    import torch

    torch.set_num_threads(1)
    answers = {name: printed(source) for name, source in programs().items()}
    text = json.dumps({"torch": torch.__version__.partition("+")[0], "printed": answers}, indent=0)
    STORED.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
