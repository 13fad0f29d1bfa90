"""Writes down what an installed PyTorch prints for the programs of ``python_keys.txt``: modes and tensor subclasses.

    python -m scripts.record_python_keys

The programs print what ``__torch_dispatch__`` sees. Answers go to ``tests/data/python_keys.json``, and what a mode sees
of the programs in ``scripts/programs`` to ``python_keys_seen.json.gz``; the tests run the same programs on the model.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import re
import warnings
from pathlib import Path
from typing import Any

from scripts.programs import PROGRAMS

_HERE = Path(__file__).parent
SOURCE = _HERE / "python_keys.txt"
STORED = _HERE.parent / "tests" / "data" / "python_keys.json"
SEEN = _HERE.parent / "tests" / "data" / "python_keys_seen.json.gz"


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


PRELUDE = """
import torch
from torch.utils._python_dispatch import TorchDispatchMode


def shown(value):
    if isinstance(value, torch.Tensor):
        return f"{type(value).__name__}{tuple(value.shape)} {value.dtype} {value.requires_grad}"
    if isinstance(value, torch.Generator):
        return "generator"
    if isinstance(value, list):
        return [shown(part) for part in value]
    return f"{value:.4g}" if isinstance(value, float) else value


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        words = [shown(a) for a in args], {name: shown(value) for name, value in (kwargs or {}).items()}
        self.calls.append(f"{func} {words[0]} {words[1]}")
        return func(*args, **(kwargs or {}))
"""

WRAPPED = """
from torch.utils._pytree import tree_map_only

calls = []


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, elem):
        options = {"dtype": elem.dtype, "device": elem.device, "requires_grad": elem.requires_grad}
        wrapper = torch.Tensor._make_wrapper_subclass(cls, elem.size(), strides=elem.stride(), **options)
        wrapper.elem = elem.detach() if elem.requires_grad else elem
        return wrapper

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        words = [shown(a) for a in args], {name: shown(value) for name, value in (kwargs or {}).items()}
        calls.append(f"{func} {words[0]} {words[1]}")
        held = tree_map_only(cls, lambda t: t.elem, args), tree_map_only(cls, lambda t: t.elem, kwargs or {})
        return tree_map_only(torch.Tensor, cls, func(*held[0], **held[1]))


def wrapped(data, **options):
    return Wrapper(torch.tensor(data, **options))
"""

NOT_ASKED = ("cuda", "torch.library", "vmap", "_C", "autocast")
"""Words of programs that are not run under a mode: no CUDA here, and things with keys above Python of their own."""


def seen_programs() -> dict[str, str]:
    """The programs that the model and PyTorch are compared on anyway, those that can run under a mode."""
    return {name: text for name, text in PROGRAMS.items() if not any(word in text for word in NOT_ASKED)}


def seen(source: str) -> list[str]:
    """What a mode around a whole program sees, under whatever ``import torch`` gives; then how the program ended."""
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(PRELUDE, space)
    mode, end = space["Seen"](), "ended"
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), mode:
        warnings.simplefilter("ignore")
        try:
            exec(compile(source, "program.py", "exec"), {"__name__": "__main__"})
        except Exception as error:
            end = f"{type(error).__name__}: {error}".partition("\n")[0]
        finally:
            space["torch"].set_grad_enabled(True)
    return [*mode.calls, end]


def seen_by_wrappers(source: str) -> list[str]:
    """What wrappers see if every ``torch.tensor`` of a program is wrapped; then how the program ended."""
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(PRELUDE + WRAPPED, space)
    wrapped, end = source.replace("torch.tensor(", "wrapped("), "ended"
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(wrapped, "program.py", "exec"), {"__name__": "__main__", "wrapped": space["wrapped"]})
        except Exception as error:
            end = f"{type(error).__name__}: {error}".partition("\n")[0]
    return [*space["calls"], end]


def in_a_child(source: str) -> list[str] | None:
    """``seen_by_wrappers`` in a process of its own; None if that crashes, as PyTorch may for tensors without memory."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "w") as stream:
            json.dump(seen_by_wrappers(source), stream)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        text = stream.read()
    return json.loads(text) if os.waitpid(child, 0)[1] == 0 else None


def main() -> None:
    """Runs every program and writes the files."""
    import torch

    torch.set_num_threads(1)
    version = torch.__version__.partition("+")[0]
    answers = {name: printed(source) for name, source in programs().items()}
    STORED.write_text(json.dumps({"torch": version, "printed": answers}, indent=0) + "\n", encoding="utf-8")
    calls = {name: seen(source) for name, source in seen_programs().items()}
    in_children = {name: in_a_child(source) for name, source in seen_programs().items() if "torch.tensor(" in source}
    by_wrappers = {name: found for name, found in in_children.items() if found is not None}
    text = json.dumps({"torch": version, "seen": calls, "seen_by_wrappers": by_wrappers})
    SEEN.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
