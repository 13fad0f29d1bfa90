"""Errors about missing kernels, raised by an installed PyTorch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from truth import records
from truth.formats.json_text import json_text


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    library = torch.library.Library("recorded", "DEF")
    library.define("on_cpu(Tensor x) -> Tensor")
    library.define("of_list(Tensor[] x) -> Tensor")
    library.define("both(Tensor x) -> Tensor")
    library.impl("on_cpu", torch.clone, "CPU")
    library.impl("of_list", lambda x: x[0].clone(), "CPU")
    library.impl("both", torch.clone, "CompositeImplicitAutograd")
    library.impl("both", torch.clone, "MkldnnCPU")
    ops = torch.ops.recorded
    cases: dict[str, Callable[[], object]] = {
        "quantized": lambda: torch.exp(torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)),
        "cuda factory": lambda: torch.ops.aten.empty.memory_format([2], device="cuda"),
        "sparse": lambda: torch.special.i0(torch.ones(2).to_sparse()),
        "meta": lambda: ops.on_cpu(torch.ones(2, device="meta")),
        "empty list": lambda: ops.of_list([]),
        "ambiguous": lambda: ops.both(torch.ones(2).to_mkldnn()),
    }
    texts = {name: _text(case) for name, case in cases.items()}
    yield records.HERE / "missing_kernels.json", json_text({"torch": torch.__version__, "texts": texts})


def _text(case: Callable[[], object]) -> str:
    try:
        case()
    except (RuntimeError, NotImplementedError) as error:
        return _without_paths(f"{type(error).__name__}: {error}")
    raise AssertionError("nothing was raised")


def _without_paths(text: str) -> str:
    """A text without the folders of the machines that built and ran PyTorch, and without line numbers of this file."""
    text = re.sub(r"\S*/(truth/recorders/missing_kernels\.py):\d+", r"\1:1", text)
    return re.sub(r"(?<=[ \"])/(?:[^/\s\"]+/)*?(?=aten/|torch/|build/)", "", text)
