"""What a program runs on, and is recorded from: the model, or an installed PyTorch (``live/torch_engine.py``)."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from dispatchviz.running.import_hook import torch_is_the_model
from dispatchviz.running.process.children import model_on_the_path
from dispatchviz.running.process_state import clean_process_state
from dispatchviz.running.program_recorder import ProgramRecorder
from dispatchviz.running.recording import EngineName, model_header


class Engine(Protocol):
    """What a program runs on."""

    @property
    def name(self) -> EngineName:
        """What ``--engine`` takes."""

    def prepare(self) -> None:
        """What is loaded before a program runs, and is no part of it."""

    def recorder(self) -> ProgramRecorder:
        """Make what records."""

    def process_state(self) -> AbstractContextManager[None]:
        """Inside, the process is as a new one."""

    def imports(self) -> AbstractContextManager[None]:
        """Inside, ``import torch`` means it."""

    def children(self) -> AbstractContextManager[None]:
        """Inside, processes that the program begins run on the same."""

    def watching(self, watch: ProgramRecorder) -> AbstractContextManager[None]:
        """Inside, what happens is told to the recorder."""

    def header(self, looking: bool) -> Mapping[str, Any]:
        """What a trace's header says of it; without ``looking`` no GPU is looked for."""


class ModelEngine:
    """The model of PyTorch."""

    name: EngineName = "model"

    def prepare(self) -> None:
        """Make the operators."""
        importlib.import_module("dispatchviz.torch")

    def recorder(self) -> ProgramRecorder:
        """The machine tells it by itself."""
        return ProgramRecorder()

    def process_state(self) -> AbstractContextManager[None]:
        """Nothing has happened yet."""
        return clean_process_state()

    def imports(self) -> AbstractContextManager[None]:
        """``import torch`` means the model."""
        return torch_is_the_model()

    def children(self) -> AbstractContextManager[None]:
        """New processes find the model."""
        return model_on_the_path()

    def watching(self, watch: ProgramRecorder) -> AbstractContextManager[None]:
        """The machine tells the active recorder."""
        return nullcontext()

    def header(self, looking: bool) -> Mapping[str, Any]:
        """What stands behind ``cuda``."""
        return model_header(looking)


MODEL: Engine = ModelEngine()


def engine_named(name: EngineName) -> Engine:
    """By what ``--engine`` takes. DispatchvizError if there is no PyTorch that can be watched."""
    if name == "model":
        return MODEL
    from dispatchviz.live.torch_engine import TorchEngine

    return TorchEngine()
