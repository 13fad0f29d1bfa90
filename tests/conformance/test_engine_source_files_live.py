"""The functions and files that the rules of the engine name exist in the installed PyTorch: its headers and binaries.

A file is found by its name in the binaries, which contain it for their messages, or as an installed header. A function
is found by its mangled name among the exported ones, or by its declaration in a header; a release build exports only
some.
"""

from __future__ import annotations

import mmap
import re
import typing
from pathlib import Path

import msgspec
import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.kinds.all_kinds import KINDS, rule
from dispatchviz.explain.locations.pytorch_locations import apply_function
from tests.explain.test_every_kind import plain

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

ROOT = Path(torch.__file__).parent
AUTOGRAD = ROOT / "include/torch/csrc/autograd"
NODES = (
    "torch::autograd::AccumulateGrad", "torch::autograd::CopyBackwards", "torch::autograd::CopySlices",
    "torch::autograd::DelayedError", "torch::autograd::Error", "torch::autograd::GraphRoot",
    "torch::autograd::Identity", "torch::autograd::NotImplemented", "torch::autograd::UndefinedGrad",
    "torch::autograd::UndefinedGradBackward", "torch::autograd::WarnNotImplemented", "MulBackward0",
    "MyFunctionBackward",
)  # fmt: skip
UNSEEN = {
    "torch::autograd::(anonymous namespace)::WarnNotImplemented::apply",
    "torch::autograd::VariableHooks::retain_grad",
}
"""Functions in an anonymous namespace, or of a class that no header has."""


def source_files() -> list[tuple[str, str]]:
    """Return all functions and files that the rules of the engine name."""
    engine = [kind for kind, record in KINDS.items() if record.group == "engine" and kind is not ev.HookRan]
    rules = [rule(event(kind)) for kind in engine]
    kinds = ("tensor pre hook", "retains-grad hook", "pre hook", "post hook", "post-accumulate hook")
    hooks = [rule(ev.HookRan(0, None, kind, 0, "f", False)) for kind in kinds]
    return sorted({(function, file) for _, function, file in (*rules, *hooks)} | {apply_function(n) for n in NODES})


def event(kind: typing.Any) -> typing.Any:
    fields = {field.name: field.type for field in msgspec.structs.fields(kind)[2:]}
    return kind(0, None, *(NODES[0] if name == "name" else plain(made) for name, made in fields.items()))


@pytest.fixture(scope="module")
def binaries() -> typing.Iterator[list[mmap.mmap]]:
    found = []
    for name in ("libtorch_cpu.so", "libtorch_python.so"):
        with (ROOT / "lib" / name).open("rb") as file:
            found.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    yield found
    for each in found:
        each.close()


@pytest.mark.parametrize(("function", "file"), source_files())
def test_functions_and_files_of_engine_rules_exist(function: str, file: str, binaries: list[mmap.mmap]) -> None:
    if file.endswith(".h"):
        assert (ROOT / "include" / file).is_file()
    else:
        assert any(binary.find(file.encode()) >= 0 for binary in binaries)
    if function not in UNSEEN:
        assert exported(function, binaries) or declared(function), function


def exported(function: str, binaries: list[mmap.mmap]) -> bool:
    mangled = "".join(f"{len(part)}{part}" for part in function.split("::")).encode()
    return any(binary.find(mangled) >= 0 for binary in binaries)


def declared(function: str) -> bool:
    """Return whether some header has the class, or the namespace, and within it the function."""
    *_, owner, name = function.split("::")
    texts = [path.read_text("utf-8") for path in AUTOGRAD.rglob("*.h")]
    begins = rf"(?:struct|class)(?: \w+)? {owner}\b[^;]*?{{|namespace torch::{owner} {{"
    return any(re.search(begins + rf".*?\b{re.escape(name)}\(", text, re.DOTALL) for text in texts)
