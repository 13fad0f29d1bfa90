"""Programs with modes and tensor subclasses (``python_keys.txt``), and recorders of the calls that they intercept.

Nothing here imports torch at the top: ``import torch`` in a program gives the real one or the model.
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from pathlib import Path
from typing import Any

from truth.programs import PROGRAMS

SOURCE = Path(__file__).parent / "python_keys.txt"


def programs() -> dict[str, str]:
    """The source text of the programs by name."""
    parts = re.split(r"^## (\w+)$", SOURCE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    named = dict(zip(parts[::2], parts[1::2], strict=True))
    prelude = named.pop("prelude").strip()
    return {name: f"{prelude}\n\n\n{body.strip()}\n" for name, body in named.items()}


def printed(source: str) -> list[str]:
    """Run a program, and return its output line by line."""
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

EXCLUDED = ("cuda", "torch.library", "vmap", "_C", "autocast")
"""Words of programs that are not run under a mode: CUDA, and features with keys above Python."""


def seen_programs() -> dict[str, str]:
    """The programs of ``truth/programs`` that can run under a mode."""
    return {name: text for name, text in PROGRAMS.items() if not any(word in text for word in EXCLUDED)}


def seen(source: str) -> list[str]:
    """The calls that a mode around a whole program intercepts, on any torch, and the end of the program."""
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
    """The calls that wrappers intercept if every ``torch.tensor`` of a program is wrapped, and the end of the
    program.
    """
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
