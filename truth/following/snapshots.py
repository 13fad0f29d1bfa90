"""Snapshots of the registrations of the model's release and of the installed PyTorch."""

from __future__ import annotations

import truth.observers.torch_of_cpu_builds  # noqa: F401  (before any other import of torch)
from dispatchviz.core.table.pytorch_registrations import pytorch_operators
from dispatchviz.live.installed_registrations import InstalledPyTorch
from dispatchviz.live.release_changes import snapshot_of_model
from dispatchviz.live.snapshot import Snapshot, from_installed


def model_and_installed() -> tuple[Snapshot, Snapshot]:
    """The two snapshots."""
    installed = from_installed(InstalledPyTorch())
    return snapshot_of_model(pytorch_operators(), installed.build), installed
