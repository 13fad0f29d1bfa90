"""The names of PyTorch that the model has, has only in part, or lacks."""

from __future__ import annotations

import importlib
import warnings
from functools import cache
from importlib.util import find_spec
from inspect import isclass, ismodule
from typing import Any, Literal

from dispatchviz.core.table.pytorch_registrations import implemented
from dispatchviz.core.table.registry import process
from dispatchviz.running.engine_choice.names_in_text import LAYOUT
from dispatchviz.torch.lacking_methods import LACKING
from dispatchviz.torch.lacking_names import LACKING_NAMES
from dispatchviz.torch.missing_names import stand_ins, stubs

Standing = Literal["has", "stand-in", "lacks", "unknown"]
"""The model has a name; has a function that does less than PyTorch's; lacks it; or neither the model nor PyTorch 2.14
has it.
"""

METHODS = frozenset(LACKING) - {"resize", "reinforce"}
"""Methods of tensors that the model lacks, without names that other objects often have."""

WRITER = "torch.utils.tensorboard"
"""The module of ``SummaryWriter``."""

OF_WRITERS = frozenset(
    f"add_{name}"
    for name in (
        *("audio", "custom_scalars", "custom_scalars_marginchart", "custom_scalars_multilinechart", "embedding"),
        *("figure", "graph", "histogram_raw", "hparams", "image", "image_with_boxes", "images", "mesh", "onnx_graph"),
        *("pr_curve", "pr_curve_raw", "tensor", "video"),
    )
)
"""Methods of ``SummaryWriter`` that the model lacks."""

_OPERATORS = "torch.ops."


@cache
def standing(name: str) -> Standing:
    """Return whether the model has a name such as ``torch.nn.functional.relu``."""
    if name.startswith(LAYOUT):
        return "has" if name == f"{LAYOUT}torch.strided" else "lacks"
    if name.startswith(_OPERATORS):
        return "has" if _operator_runs(*name.removeprefix(_OPERATORS).split(".")[:2]) else "lacks"
    root, *rest = name.split(".")
    found: Any = importlib.import_module(f"dispatchviz.{root}")
    with warnings.catch_warnings(action="ignore"):
        for number, part in enumerate(rest, 1):
            if not (ismodule(found) or isclass(found)):
                break
            try:
                found = getattr(found, part)
            except AttributeError:
                return "has" if _is_module(".".join((root, *rest[:number]))) else _missing(name, part, number)
    return _of_object(found)


def _missing(name: str, part: str, depth: int) -> Standing:
    """Return ``unknown`` only for names of the module ``torch``, whose contents are known."""
    known = depth > 1 or not name.startswith("torch.") or part in LACKING_NAMES or part.startswith("_")
    return "lacks" if known else "unknown"


def _is_module(name: str) -> bool:
    """Return whether the model has a module that is imported only by its own name."""
    try:
        return find_spec(f"dispatchviz.{name}") is not None
    except ModuleNotFoundError:  # its parent is no package
        return False


def _of_object(found: object) -> Standing:
    try:
        return "lacks" if found in stubs else "stand-in" if found in stand_ins else "has"
    except TypeError:  # it has no hash
        return "has"


@cache
def _operator_runs(namespace: str, name: str = "") -> bool:
    """Return whether the model has a kernel for an operator, or PyTorch has no such operator: then the program may
    define it.
    """
    overloads = [each for each in process.names() if each.partition(".")[0] == f"{namespace}::{name}"]
    return not overloads or any(map(implemented, overloads))
