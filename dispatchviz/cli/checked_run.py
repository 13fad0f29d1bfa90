"""Run a program on the model or on an installed PyTorch, in a process of its own, for ``dispatchviz check``.

Two processes are needed because ``import torch`` can mean only one of the two in a process. The trace goes to a file
and contains the errors of the program. Both runs use the same seed for random numbers that the program does not seed.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import msgspec
import numpy

from dispatchviz.cli.checked_request import CheckedRequest, snapshot_beside
from dispatchviz.cli.script_run import run_script
from dispatchviz.core.native.random.generator import DEFAULT_SEED
from dispatchviz.core.table.pytorch_registrations import pytorch_version
from dispatchviz.explain.keys.key_layouts import minor
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.terminal_output import complain
from dispatchviz.live.installed_torch import installed_torch
from dispatchviz.running.engine_choice.choice import Choice
from dispatchviz.running.program_source import script_of
from dispatchviz.running.recording import EngineName


def main() -> int:
    """Run the request in ``sys.argv``; return 0 if there is a trace."""
    request = msgspec.json.decode(os.fsencode(sys.argv[1]), type=CheckedRequest)
    try:
        seed(request.engine)
        if request.engine == "torch":
            _keep_registrations(snapshot_beside(request.save))
        run_script(
            script_of(request.kind, request.program),
            request.arguments,
            request.cuda,
            request.save,
            engine=Choice(request.engine),
        )
    except DispatchvizError as error:
        complain(str(error))
        return error.status
    return 0


def _keep_registrations(path: Path) -> None:
    """Save PyTorch's registrations, before the recorder adds its own kernels."""
    if minor(str(installed_torch().__version__)) != minor(pytorch_version()):
        from dispatchviz.live.installed_registrations import InstalledPyTorch
        from dispatchviz.live.snapshot import from_installed, write_snapshot

        write_snapshot(from_installed(InstalledPyTorch()), path)


def seed(engine: EngineName) -> None:
    """Seed all generators. The model always starts with this seed; PyTorch's default changes with each process."""
    random.seed(DEFAULT_SEED)
    numpy.random.seed(DEFAULT_SEED % (1 << 32))
    if engine == "torch":
        installed_torch().manual_seed(DEFAULT_SEED)
