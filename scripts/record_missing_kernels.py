"""Makes an installed PyTorch raise its errors about missing kernels and writes tests/data/missing_kernels.json.

python scripts/record_missing_kernels.py      with a Python that has torch
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import torch

TARGET = Path(__file__).parents[1] / "tests" / "data" / "missing_kernels.json"


def main() -> None:
    """Raises each once."""
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
    TARGET.write_text(json.dumps({"torch": torch.__version__, "texts": texts}, indent=1) + "\n")


def _text(case: Callable[[], object]) -> str:
    try:
        case()
    except (RuntimeError, NotImplementedError) as error:
        return _without_places(f"{type(error).__name__}: {error}")
    raise AssertionError("nothing was raised")


def _without_places(text: str) -> str:
    """Without the folders of the machines that built and ran it."""
    return re.sub(r"(?<=[ \"])/(?:[^/\s\"]+/)*?(?=aten/|torch/|build/|scripts/)", "", text)


if __name__ == "__main__":
    main()
