"""Dispatch tables after registrations on an installed PyTorch. The file has two parts:

``refusals``   cases of [steps, answers, dumps]. A step is [verb, ...] as in ``Steps`` below; its answer is the text of
               the error, or null. Dumps are those of ``ns::foo`` and ``ns::bar`` at the end.
``sequences``  random cases of [steps, cells, stale, dump, table]. A step is ["+", key, fallthrough], which registers a
               Python kernel, or ["-", n], which removes the n-th one. ``cells`` has a character for the dispatch table
               entry of every runtime key: the kernel that calls find there (its number in base 36), ``.`` none, ``*`` a
               valid entry with another kernel (a fallback), ``!`` the ambiguous one, ``>`` a fallthrough of this case,
               ``?`` not called. ``stale`` is true if PyTorch's own check of the invariants fails.

Locations are normalized: FILE:LINE becomes ``here:0``, and PyTorch's build folder is removed.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from truth import records
from truth.formats.json_text import json_text

C: Any = torch._C
SEQUENCES = 400
KEYS = (
    *("CPU", "CUDA", "HIP", "XLA", "MTIA", "MAIA", "PrivateUse1", "FPGA", "MkldnnCPU", "QuantizedCPU", "SparseCPU"),
    *("SparseCUDA", "SparseCsrCPU", "NestedTensorCPU", "NestedTensorCUDA", "AutogradOther", "AutogradCPU"),
    *("AutogradCUDA", "AutogradXLA", "AutogradNestedTensor", "FuncTorchBatched", "Functionalize", "Tracer"),
    *("Autograd", "CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"),
    *("CompositeImplicitAutogradNestedTensor", "FuncTorchBatchedDecomposition"),
)
OFTEN = ("CompositeImplicitAutograd", "CompositeExplicitAutograd", "Autograd", "SparseCPU", "NestedTensorCPU")
UNASKED = re.compile(r"Python|PreDispatch|FuncTorchDynamic|Functionalize|Tracer|Vmap|Autograd(MTIA|MAIA)$")
"""Keys whose fallbacks must not be called directly, or whose fallbacks cannot be looked up."""


def normalized(text: str) -> str:
    """A text without folders and lines of this machine."""
    text = re.sub(r"/\S*?/(?=(?:aten|build|torch/csrc)/)", "", text)
    return re.sub(r"registered at (?:/dev/null|/\S+\.py):\d+", "registered at here:0", text).replace(
        "block at /dev/null:0", "block at here:0"
    )


class Steps:
    """A run of the steps of a refusal case; libraries are referred to by name."""

    def __init__(self) -> None:
        self.libraries: dict[str, Any] = {}

    def run(self, steps: list[list[str]]) -> list[str | None]:
        """The error of each step, or None."""
        return [self._attempt(*step) for step in steps]

    def _attempt(self, verb: str, *args: str) -> str | None:
        try:
            getattr(self, verb)(*args)
        except RuntimeError as error:
            return normalized(str(error))
        return None

    def library(self, name: str, kind: str, namespace: str, key: str) -> None:
        self.libraries[name] = C._dispatch_library(kind, namespace, key)

    def define(self, library: str, schema: str) -> None:
        self.libraries[library].def_(schema)

    def impl(self, library: str, name: str, key: str) -> None:
        self.libraries[library].impl_t_t(name, key)

    def fallback(self, library: str, key: str) -> None:
        self.libraries[library].fallback_fallthrough(key)

    def find(self, name: str, overload: str) -> None:
        C._dispatch_find_schema_or_throw(name, overload)

    def reset(self, library: str) -> None:
        self.libraries.pop(library).reset()


FOO, BAR = "foo(Tensor self) -> Tensor", "bar.ovl(Tensor self) -> Tensor"
DEF, FRAGMENT, IMPL = (["library", kind.lower(), kind, "ns", ""] for kind in ("DEF", "FRAGMENT", "IMPL"))
CPU = ["library", "cpu", "IMPL", "ns", "CPU"]
GLOBAL = ["library", "global", "IMPL", "_", ""]
REFUSALS: list[list[list[str]]] = [
    [DEF, ["library", "b", "DEF", "ns", ""], ["reset", "def"], ["library", "b", "DEF", "ns", ""]],
    [FRAGMENT, ["define", "fragment", FOO], ["define", "fragment", FOO], ["define", "fragment", f"ns::{BAR}"]],
    [["library", "a", kind, "_", ""] for kind in ("FRAGMENT", "DEF", "IMPL", "WHAT")],
    [["library", "a", kind, "ns", "CPU"] for kind in ("DEF", "FRAGMENT")],
    [["library", "a", "IMPL", "ns", key] for key in ("Undefined", "Autograd", "CatchAll", "AutogradHIP", "NoKey")],
    [CPU, ["define", "cpu", BAR], ["define", "cpu", f"ns::{BAR}"], ["define", "cpu", f"other::{FOO}"]],
    [DEF, ["define", "def", f"other::{FOO}"], FRAGMENT, ["define", "fragment", f"other::{FOO}"]],
    *([made, ["impl", made[1], "other::foo", "CPU"]] for made in (DEF, FRAGMENT, IMPL)),
    [CPU, ["impl", "cpu", "foo", "CUDA"], ["impl", "cpu", "foo", "CPU"], ["impl", "cpu", "ns::foo", ""]],
    [CPU, ["impl", "cpu", "ns::bar.ovl", "CUDA"], ["impl", "cpu", "bar.ovl", "Undefined"]],
    [IMPL, ["impl", "impl", "foo", ""], ["impl", "impl", "foo", "Undefined"], ["impl", "impl", "bar.ovl", "Dense"]],
    [DEF, ["fallback", "def", "CPU"], FRAGMENT, ["fallback", "fragment", "CPU"]],
    [CPU, ["fallback", "cpu", ""], IMPL, ["fallback", "impl", "CUDA"], ["fallback", "impl", ""]],
    [GLOBAL, ["fallback", "global", ""], ["fallback", "global", "HIP"], ["fallback", "global", "HIP"]],
    [GLOBAL, ["fallback", "global", "Meta"], ["fallback", "global", "Autograd"], ["fallback", "global", "Undefined"]],
    [["library", "a", "IMPL", "_", "VE"], ["fallback", "a", "MTIA"], ["fallback", "a", ""], ["fallback", "a", "VE"]],
    [
        ["find", "ns::foo", ""],
        ["find", "ns::bar", "ovl"],
        IMPL,
        ["impl", "impl", "foo", "CPU"],
        ["find", "ns::foo", ""],
    ],
    [DEF, ["define", "def", FOO], IMPL, ["impl", "impl", "foo", "CPU"], ["reset", "def"], ["find", "ns::foo", ""]],
    [DEF, ["define", "def", FOO], CPU, ["impl", "cpu", "foo", ""], ["reset", "cpu"], ["find", "ns::foo", ""]],
    [DEF, ["define", "def", BAR], CPU, ["impl", "cpu", "bar.ovl", ""], ["reset", "def"], ["reset", "cpu"], FRAGMENT],
    [
        DEF,
        ["define", "def", "foo"],
        ["define", "def", FOO],
        ["impl", "def", "foo", "Autograd"],
        ["find", "ns::foo", ""],
    ],
]
NAMES = ("ns::foo", "ns::bar.ovl")


def refusal(steps: list[list[str]]) -> list[Any]:
    """The steps, answers and dumps of a refusal case."""
    runner = Steps()
    answers = runner.run(steps)
    dumps = [normalized(C._dispatch_dump(name)) for name in NAMES]
    for library in reversed(runner.libraries.values()):
        library.reset()
    return [steps, answers, dumps]


class Sequence:
    """An operator on which kernels are registered and removed."""

    def __init__(self, number: int) -> None:
        self.namespace = f"dispatchviz_sequence_{number}"
        self.definition = torch.library.Library(self.namespace, "FRAGMENT")
        self.definition.define("op(Tensor self) -> Tensor")
        self.kernels: list[Any] = []
        self.seen: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        return f"{self.namespace}::op"

    def run(self, steps: list[list[Any]]) -> None:
        for verb, *args in steps:
            if verb == "+":
                self.put(*args)
            else:
                self.kernels[args[0]]._destroy()

    def put(self, key: str, fallthrough: bool) -> None:
        """Register a kernel in a library of its own, so that it can be removed alone."""
        number = len(self.kernels)

        def kernel(ks: Any, x: Any) -> Any:
            self.seen = number, ks.raw_repr()
            return x

        library = torch.library.Library(self.namespace, "IMPL")
        function = torch.library.fallthrough_kernel if fallthrough else kernel
        library.impl("op", function, key, with_keyset=not fallthrough)
        self.kernels.append(library)

    def cell(self, name: str, raw: int) -> str:
        """The kernel for a runtime key, found by a call."""
        if name in NAMEABLE and not C._dispatch_has_computed_kernel_for_dispatch_key(self.name, name):
            return "."
        if UNASKED.search(name):
            return "?"
        self.seen = None
        try:
            operator = getattr(torch.ops, self.namespace).op.default
            operator.redispatch(C.DispatchKeySet.from_raw_repr(raw), torch.ones(1))
        except (RuntimeError, NotImplementedError) as error:
            return self.failure(name, str(error))
        number, ks = self.seen or (0, -1)
        return "0123456789abcdefghijklmnopqrstuvwxyz"[number] if ks == raw else "*"

    def failure(self, name: str, text: str) -> str:
        """The mark of the dispatch table entry that raised an error; behind a fallback, the error may come from a later
        entry.
        """
        mark = next((mark for message, mark in FAILURES.items() if message in text), "")
        if mark:
            return "?" if mark == ">" and name in FALLING_BACK else mark
        return "*" if name in NAMEABLE else "."

    def stale(self) -> bool:
        try:
            C._dispatch_check_invariants(self.name)
        except RuntimeError:
            return True
        return False


FAILURES = {"mapped to AutogradOther": "!", "fallthrough_kernel was executed": ">"}
NAMEABLE: set[str] = set()
"""Runtime keys that PyTorch's parser knows."""
FALLING_BACK: set[str] = set()
"""Runtime keys with a backend fallback."""


def runtime_keys() -> dict[str, int]:
    """The raw sets by name, in table order; it also fills NAMEABLE and FALLING_BACK."""
    full = C._dispatch_keyset_full()
    names = C._dispatch_keyset_to_string(full).removeprefix("DispatchKeySet(").removesuffix(")").split(", ")
    values = {C._dispatch_key_name(C.DispatchKey(value)): C.DispatchKey(value) for value in reversed(range(150))}
    for name in ("Undefined", *names):
        with suppress(RuntimeError):
            C._dispatch_key_parse(name)
            NAMEABLE.add(name)
        if C._dispatch_has_backend_fallback(values[name]):
            FALLING_BACK.add(name)
    return {name: C.DispatchKeySet(values[name]).raw_repr() for name in ("Undefined", *names)}


def random_steps(rng: random.Random) -> list[list[Any]]:
    """A list of at most seven steps. A step may remove a registered kernel."""
    steps: list[list[Any]] = []
    present: list[int] = []
    for _ in range(rng.randrange(1, 8)):
        if present and rng.random() < 0.3:
            steps.append(["-", present.pop(rng.randrange(len(present)))])
        else:
            present.append(sum(step[0] == "+" for step in steps))
            key = rng.choice(OFTEN if rng.random() < 0.4 else KEYS)
            steps.append(["+", key, rng.random() < 0.1])
    return steps


def sequence(number: int, steps: list[list[Any]], keys: dict[str, int]) -> list[Any]:
    """The steps, cells, stale flag, dump and table of a sequence."""
    case = Sequence(number)
    case.run(steps)
    texts = (
        normalized(dump(case.name)).replace(case.namespace, "ns") for dump in (C._dispatch_dump, C._dispatch_dump_table)
    )
    cells = "".join(case.cell(name, raw) for name, raw in keys.items())
    return [steps, cells, case.stale(), *texts]


def data(seed: int = 0) -> dict[str, Any]:
    """The stored data for seed 0; other seeds give other sequences."""
    rng, keys = random.Random(seed), runtime_keys()
    return {
        "torch": torch.__version__.partition("+")[0],
        "refusals": [refusal(steps) for steps in REFUSALS],
        "keys": list(keys),
        "sequences": [sequence(number, random_steps(rng), keys) for number in range(SEQUENCES)],
    }


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    yield records.HERE / "dispatch_registrations.json.gz", json_text(data())
