"""The modules of the namespace that few programs use. Each is loaded when one of its attributes is first used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from dispatchviz.foundation import lazy_modules
from dispatchviz.foundation.lazy_modules import is_unloaded as is_unloaded

_ROOT = "dispatchviz.torch"

NAMES = (
    *("_C._fft", "_C._functions", "_C._functorch", "_C._linalg", "_C._nn", "_C._special", "_dynamo", "_inductor"),
    *("accelerator", "distributed", "distributions", "func", "fx", "hub", "jit", "library"),
    *("masked", "nn", "profiler", "signal", "testing"),
    *("_functorch.apis", "_functorch.forward_transforms", "_lobpcg_bases", "_lobpcg_gradient"),
    *("autograd.functional", "autograd.gradcheck", "autograd.profiler"),
    *("nn.utils.parametrizations", "nn.utils.parametrize", "nn.utils.prune", "nn.utils.stateless"),
    *("optim._adafactor", "optim._muon", "optim.adadelta", "optim.adagrad", "optim.adamax", "optim.asgd"),
    *("optim.lbfgs", "optim.lr_scheduler", "optim.nadam", "optim.radam", "optim.rmsprop", "optim.rprop"),
    *("optim.swa_utils", "utils.benchmark", "utils.checkpoint", "utils.checkpoint_frames", "utils.data"),
)
"""Names below ``torch``. The package that a module belongs to imports it like any other."""

ATTRIBUTES: dict[str, dict[str, str]] = {
    _ROOT: {"vmap": "_functorch.apis"},
    f"{_ROOT}.autograd": {"gradcheck": "autograd.gradcheck", "gradgradcheck": "autograd.gradcheck"},
    f"{_ROOT}.optim": {
        "ASGD": "optim.asgd",
        "Adadelta": "optim.adadelta",
        "Adafactor": "optim._adafactor",
        "Adagrad": "optim.adagrad",
        "Adamax": "optim.adamax",
        "LBFGS": "optim.lbfgs",
        "Muon": "optim._muon",
        "NAdam": "optim.nadam",
        "RAdam": "optim.radam",
        "RMSprop": "optim.rmsprop",
        "Rprop": "optim.rprop",
    },
}
"""Names of a package that are defined in one of the lazy modules: package -> name -> module below ``torch``."""

when_loaded: list[Callable[[], object]] = []
"""Functions to call after a module of the table has been loaded, with everything that it imported."""


def attribute_of(package: ModuleType, name: str) -> Any:
    """Return the value of a name of ``ATTRIBUTES``, and store it in the package. Raise KeyError for other names."""
    module = sys.modules[f"{_ROOT}.{ATTRIBUTES[package.__name__][name]}"]
    value = vars(package)[name] = getattr(module, name)
    return value


def names_of(package: ModuleType) -> list[str]:
    """Return ``dir`` of a package, with the names of modules that are not loaded yet."""
    return sorted({*vars(package), *ATTRIBUTES.get(package.__name__, ())})


def _adapt() -> None:
    for adapt in when_loaded:
        adapt()


lazy_modules.install(_ROOT, NAMES, _adapt)
