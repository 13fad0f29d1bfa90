"""Programs with their diagnosis, run on the model and on an installed PyTorch, and the same programs with the fix.

A module of ``programs`` has cases in ``CASES``, which run on both engines. ``ON_THE_MODEL`` has programs without a
diagnosis on an installed PyTorch, whose recording shows less. ``ON_PYTORCH`` has programs that the model does not
support. ``ON_A_GPU`` and ``WITHOUT_A_GPU`` have those that need a PyTorch with CUDA, or without. ``SOUND`` has programs
that resemble a mistake but are correct.
"""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Iterable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import NamedTuple

from dispatchviz.cli.recorded_values import SMALL
from dispatchviz.core.native.random.generator import DEFAULT_SEED
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnose import ERROR_RULES, diagnoses
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import failure
from dispatchviz.live.installed_torch import installed_torch
from dispatchviz.running.engines import engine_named
from dispatchviz.running.program import run
from dispatchviz.running.program_source import Code
from dispatchviz.running.recording import EngineName
from tests.explain.diagnosis import programs


class Case(NamedTuple):
    """A program and the expected parts of its first diagnosis."""

    name: str
    source: str
    kind: str
    why: tuple[str, ...]
    """Parts of the cause: names, lines, Nodes."""
    tries: str
    """A part of the first fix."""
    fixed: str | tuple[str, str] = ""
    """The program with that fix in it, or the part of it that the fix changes and its replacement.

    The fixed program has no diagnosis, and PyTorch runs it.
    """
    torch_kind: str = ""
    """The kind on an installed PyTorch, if its recording shows less."""
    torch_why: tuple[str, ...] | None = None
    """The expected parts of the cause there; the same if None."""

    @property
    def repaired(self) -> str:
        """The whole program with the fix in it; empty if there is none."""
        if isinstance(self.fixed, str):
            return self.fixed
        assert self.fixed[0] in self.source, self.fixed
        return self.source.replace(*self.fixed)


NOUNS = "channel|class|column|dimension|element|feature|gradient|index|input|number|row|sample|size|target|value"
MISWRITTEN = re.compile(
    rf"  | , |\.\.\.\.|\bt\d+\b|\b1 (?:{NOUNS})e?s\b|\ban (?:str|float|list)\b"
    r"|\ba (?:int|index|input|integer|element|error|operator|output|optimizer)\b"
    r"|the (?:input|tensor|indices|targets|predictions|first factor|second factor)\.\w"
)
"""A pattern of wrong articles and plurals, numbers of tensors, and gaps."""

LISTS = ("CASES", "ON_THE_MODEL", "ON_PYTORCH", "ON_A_GPU", "WITHOUT_A_GPU")
"""The names of all lists of cases."""


def cases(*lists: str) -> dict[str, Case]:
    """Return the cases of all programs in some lists, each under a name: ``no_graph: two leaves``."""
    each = [(f"{place}: {case.name}", case) for place, module in _modules() for case in _of(module, lists)]
    assert len(dict(each)) == len(each), "two cases of a module have one name"
    return dict(each)


def _of(module: ModuleType, lists: Iterable[str]) -> Iterator[Case]:
    return (case for name in lists for case in getattr(module, name, ()))


def sound() -> dict[str, str]:
    """Return the sound programs under the same kind of name."""
    return {
        f"{place}: {name}": source
        for place, module in _modules()
        for name, source in getattr(module, "SOUND", {}).items()
    }


def _modules() -> Iterator[tuple[str, ModuleType]]:
    for each in iter_modules(programs.__path__):
        yield each.name, import_module(f"{programs.__name__}.{each.name}")


def traced(source: str, engine: EngineName = "model", most: int = SMALL.most_values) -> Trace:
    """Return the trace of a program given as text, recorded as in ``dispatchviz why``. The program may warn."""
    text = textwrap.dedent(source).strip() + "\n"
    if engine == "torch":
        installed_torch().manual_seed(DEFAULT_SEED)  # the model begins with this seed
    try:
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("default")
            return run(
                Code(text), output=io.StringIO(), engine=engine_named(engine), values=SMALL.values, most_values=most
            ).trace
    finally:
        if engine == "torch":
            _as_before()


def _as_before() -> None:
    """Reset the switches that a program leaves on in an installed PyTorch, which would affect the next test."""
    import torch

    torch.autograd.set_detect_anomaly(False)
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)


def check(case: Case, engine: EngineName) -> Trace:
    """Assert that a program has the diagnosis, and none with the fix. Return the program's trace."""
    trace = traced(case.source, engine)
    first = diagnoses(trace)[0]
    assert len(answers(trace)) < 2, "the order of rules must not matter"
    on_torch = engine == "torch"
    assert first.kind == (case.torch_kind if on_torch and case.torch_kind else case.kind), first
    for part in case.torch_why if on_torch and case.torch_why is not None else case.why:
        assert part in first.why, first.why
    assert case.tries in (first.fixes[0] if first.fixes else "")
    for text in (first.why, *first.fixes, first.unseen):
        assert MISWRITTEN.search(text) is None, text
    if case.fixed:
        assert diagnoses(traced(case.repaired, engine)) == ()
    return trace


def answers(trace: Trace) -> list[Diagnosis]:
    """Return the diagnoses of the rules for the error that ended a program."""
    failed = failure(trace)
    parts = [] if failed is None else [rule for part, rule in ERROR_RULES if part in failed.message]
    found = {rule: None if failed is None else rule(failed) for rule in parts}
    return [each for each in found.values() if each is not None]
