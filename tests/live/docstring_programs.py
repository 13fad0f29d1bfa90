"""Programs from the docstrings of the installed PyTorch, which this project did not write.

An example consists of a docstring's statements with ``>>>``; the values of its expressions are printed. Some statements
are left out: those that PyTorch itself cannot run (they use names that only the prose has), those that the model says
it does not have, and those that need CUDA.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib
import inspect
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dispatchviz.live.installed_torch import installed_torch
from dispatchviz.running.engines import engine_named

MODULES = (
    "torch", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.utils", "torch.autograd",
    "torch.autograd.functional", "torch.autograd.forward_ad", "torch.optim", "torch.optim.lr_scheduler", "torch.func",
    "torch.linalg", "torch.fft", "torch.special", "torch.signal.windows", "torch.distributions",
    "torch.utils.checkpoint",
)  # fmt: skip
BEGIN = "import math\nimport numpy as np\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
"""The imports that the examples assume."""
UNFIT = (
    "cuda", "set_default", "set_printoptions", "manual_seed", "seed()", "torch.empty", "_empty(", ".new(", "resize_",
    "assert_close", "save(", "load(", "open(", "compile", "jit.", "DataLoader", "import ", "distributed",
    "set_grad_enabled",
)  # fmt: skip
"""Words of statements that depend on the machine or on other statements, or that ``docs/differences.md`` names."""
LISTED = (
    "histc",
    "histogram",
    "histogramdd",
    "LSTM",
    "BatchNorm",
    "SyncBatchNorm",
    "Conv",
    "conv",
    "profiler",
    "inference_mode",
)
"""Parts of the names whose examples differ as ``docs/differences.md`` says (threads, oneDNN), or a blind spot
of the recorder (numbers in inference mode)."""


def examples() -> dict[str, list[str]]:
    """Return the statements of each docstring, by the name of the documented object."""
    installed_torch()
    found: dict[str, list[str]] = {}
    seen = set[str]()
    for name, text in _docstrings():
        if text not in seen and not any(part in name for part in LISTED):
            seen.add(text)
            statements = [one for one in _statements(text) if not any(part in one for part in UNFIT)]
            if statements:
                found[name] = statements
    return found


def _docstrings() -> Iterator[tuple[str, str]]:
    tensor = importlib.import_module("torch").Tensor
    spaces: list[tuple[str, Mapping[str, Any]]] = [("torch.Tensor", {**vars(tensor.__base__), **vars(tensor)})]
    spaces += [(name, vars(importlib.import_module(name))) for name in MODULES]
    for where, space in spaces:
        for name, value in sorted(space.items()):
            if not name.startswith("_") and not inspect.ismodule(value):
                text = getattr(value, "__doc__", None)
                if isinstance(text, str) and ">>>" in text:
                    yield f"{where}.{name}", text


def _statements(text: str) -> Iterator[str]:
    try:
        parsed = doctest.DocTestParser().get_examples(text)
    except ValueError:
        return
    for example in parsed:
        if example.options.get(doctest.SKIP):
            continue
        try:
            (*_, last) = ast.parse(example.source).body
        except (SyntaxError, ValueError):
            continue
        shown = isinstance(last, ast.Expr) and not example.source.startswith("print(")
        yield f"print({ast.unparse(last)})\n" if shown else f"{example.source.rstrip()}\n"


def that_run(statements: Sequence[str]) -> list[str]:
    """Return the statements that neither PyTorch nor the model refuses."""
    for engine in ("torch", "model"):
        with engine_named(engine).imports(), contextlib.redirect_stdout(io.StringIO()):
            statements = list(_passing(statements))
    return list(statements)


def _passing(statements: Sequence[str]) -> Iterator[str]:
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(BEGIN, space)  # a docstring of PyTorch's
    for statement in statements:
        try:
            exec(compile(statement, "<example>", "exec"), space)
        except Exception:  # an example may raise anything
            continue
        yield statement
