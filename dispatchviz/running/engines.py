"""The engines that run and record a program: the model, or an installed PyTorch (``live/torch_engine.py``)."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from msgspec import UNSET

from dispatchviz.running.import_hook import torch_is_the_model
from dispatchviz.running.process.children import model_on_the_path
from dispatchviz.running.process_state import clean_process_state
from dispatchviz.running.program_recorder import ProgramRecorder
from dispatchviz.running.recording import EngineName, model_header


class Engine(Protocol):
    """An engine that runs a program."""

    @property
    def name(self) -> EngineName:
        """The engine's name for ``--engine``."""

    def prepare(self) -> None:
        """Load the parts that a program needs but that do not belong to it."""

    def recorder(self) -> ProgramRecorder:
        """Create the recorder."""

    def process_state(self) -> AbstractContextManager[None]:
        """Return a context manager that gives the process the state of a new one."""

    def imports(self) -> AbstractContextManager[None]:
        """Return a context manager in which ``import torch`` means this engine."""

    def children(self) -> AbstractContextManager[None]:
        """Return a context manager in which child processes use this engine."""

    def watching(self, watch: ProgramRecorder) -> AbstractContextManager[None]:
        """Return a context manager in which the recorder receives the events."""

    def header(self, looking: bool) -> Mapping[str, Any]:
        """Return the facts for a trace's header. Without ``looking`` no GPU is searched for."""


class ModelEngine:
    """The model of PyTorch. ``reason`` says why ``--engine auto`` chose it."""

    name: EngineName = "model"

    def __init__(self, reason: str = "") -> None:
        self._reason = reason

    def prepare(self) -> None:
        """Make the operators."""
        importlib.import_module("dispatchviz.torch")

    def recorder(self) -> ProgramRecorder:
        """Create the recorder. The machine calls it by itself."""
        return ProgramRecorder()

    def process_state(self) -> AbstractContextManager[None]:
        """Return a context manager that gives the process the state of a new one."""
        return clean_process_state()

    def imports(self) -> AbstractContextManager[None]:
        """Let ``import torch`` mean the model."""
        return torch_is_the_model()

    def children(self) -> AbstractContextManager[None]:
        """Let new processes find the model."""
        return model_on_the_path()

    def watching(self, watch: ProgramRecorder) -> AbstractContextManager[None]:
        """Do nothing, because the machine calls the active recorder."""
        return nullcontext()

    def header(self, looking: bool) -> Mapping[str, Any]:
        """Return the device behind ``cuda``."""
        return {**model_header(looking), "chosen": self._reason or UNSET}


MODEL: Engine = ModelEngine()


def engine_named(name: EngineName, reason: str = "") -> Engine:
    """Return the engine with a name. ``reason`` says why ``--engine auto`` chose it.

    Raise DispatchvizError if there is no PyTorch that can be watched.
    """
    if name == "model":
        return ModelEngine(reason) if reason else MODEL
    from dispatchviz.live.torch_engine import TorchEngine

    return TorchEngine(reason)
