"""The small programs on which real PyTorch and the model are compared. Expected results are not part of them.

Every program is plain Python that works after ``import torch`` with either torch. Data are literal if values matter;
the random factories are there for their dispatch log only. The ``.txt`` files in this folder hold the programs by
subject, each below a line ``## name``; ``expressions.txt`` has one expression per line, mostly wrong calls.
``truth/recorders/programs.py`` records PyTorch's results.
"""

from __future__ import annotations

import re
from pathlib import Path

_HERE = Path(__file__).parent
_FILES = (
    "forum",
    "factories",
    "fourier",
    "random",
    "constructing",
    "printing",
    "conversions",
    "pointwise",
    "half",
    "reductions",
    "statistics",
    "shapes",
    "matrices",
    "linalg",
    "views",
    "geometry",
    "in_place",
    "engine",
    "autograd",
    "modes",
    "autocast",
    "training",
    "convolution",
    "pooling",
    "losses",
    "bags",
    "sequences",
    "sampling_grids",
    "margins",
    "fractional",
    "rare_modules",
    "normalisation",
    "activations",
    "padding",
    "distances",
    "einsum",
    "upsampling",
    "torch_ops",
    "arguments",
    "setting_memory",
    "copies",
    "errors",
    "more",
    "vmap",
    "batch_rules",
    "func",
    "masked",
    "math_bits",
    "zero_tensors",
    "functionalization",
    "custom_operators",
    "forward_ad",
    "forward_formulas",
    "functions",
    "hooks",
    "saved_hooks",
    "anomaly",
    "indexing",
    "structured",
    "nn",
    "inference",
    "deterministic",
    "recurrent",
    "lessons",
    "lessons_of_learners",
    "derivatives",
    "complex",
    "torch_function",
)


def parse(text: str) -> dict[str, str]:
    """Programs by name, from a text in which each follows a line ``## name``."""
    parts = re.split(r"^## (\w+)$", text, flags=re.MULTILINE)[1:]
    return {name: f"import torch\n\n{body.strip()}\n" for name, body in zip(parts[::2], parts[1::2], strict=True)}


def _by_subject() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for subject in _FILES:
        programs = parse((_HERE / f"{subject}.txt").read_text(encoding="utf-8"))
        if twice := [name for name in programs for others in found.values() if name in others]:
            raise ValueError(f"{subject}.txt has names that are taken: {', '.join(twice)}")
        found[subject] = programs
    return found


SUBJECTS: dict[str, dict[str, str]] = _by_subject()
"""The programs of each subject: source text by name."""

PROGRAMS: dict[str, str] = {name: source for programs in SUBJECTS.values() for name, source in programs.items()}
"""The source text of all programs by name."""

ON_CUDA: dict[str, str] = parse((_HERE / "on_cuda.txt").read_text(encoding="utf-8"))
"""Programs on CUDA by name, which are recorded on a machine with a GPU."""

TRAINING = _HERE.parents[1] / "examples" / "training"
"""The folder of the training loops, which are recorded too."""

PRELUDE = """
class Bad: pass
x = torch.ones(2, 2)
r = torch.ones(2, requires_grad=True)
"""
"""Definitions that expressions use."""

EXPRESSIONS: tuple[str, ...] = tuple((_HERE / "expressions.txt").read_text(encoding="utf-8").strip().split("\n"))
"""Single calls whose results and error texts are recorded."""
