"""The engine that runs programs on an installed PyTorch and records them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType

from dispatchviz.live.begun_keys import begun_keys_watched, originals_again
from dispatchviz.live.blind_spots import blind_spots
from dispatchviz.live.called_modules import modules_followed
from dispatchviz.live.compiled_regions import compiler_unwatched
from dispatchviz.live.custom_functions import saving_followed
from dispatchviz.live.hidden_frames import our_frames_hidden
from dispatchviz.live.installed_registrations import InstalledPyTorch
from dispatchviz.live.installed_torch import (
    DESCRIBED,
    build_text,
    cuda_text,
    installed_torch,
    newer_than_tested,
    release,
)
from dispatchviz.live.key_differences import key_differences
from dispatchviz.live.key_numbers import OURS, key_layout
from dispatchviz.live.live_recorder import LiveRecorder
from dispatchviz.live.lone_thread import lone_thread_watched
from dispatchviz.live.own_tables import own_tables
from dispatchviz.live.plain_queries import queries_answered
from dispatchviz.live.registered_hooks import hooks_followed
from dispatchviz.live.subclass_makers import subclass_makers_followed
from dispatchviz.live.watched_formatting import formatting_followed
from dispatchviz.live.watched_registrations import registrations_followed
from dispatchviz.running.held_tensors import TENSOR_CLASSES

if TYPE_CHECKING:
    from dispatchviz.core.record.trace_file import KeptTables
    from dispatchviz.running.program_recorder import ProgramRecorder
    from dispatchviz.running.recording import EngineName


class TorchEngine:
    """The installed PyTorch. ``reason`` says why ``--engine auto`` chose it.

    Raise InstalledTorchError if there is none, or if it cannot be watched.
    """

    name: EngineName = "torch"

    def __init__(self, reason: str = "") -> None:
        self.torch = installed_torch()
        self._reason = reason
        self._tables: KeptTables | UnsetType = UNSET

    def prepare(self) -> None:
        """Do nothing, because PyTorch is imported by now."""

    def recorder(self) -> LiveRecorder:
        """Create the recorder."""
        return LiveRecorder(self.torch)

    def process_state(self) -> AbstractContextManager[None]:
        """Leave the state of the process to the program."""
        return nullcontext()

    def imports(self) -> AbstractContextManager[None]:
        """Leave ``import torch`` its normal meaning."""
        return nullcontext()

    def children(self) -> AbstractContextManager[None]:
        """Let child processes of the program find the installed PyTorch as usual."""
        return nullcontext()

    def header(self, looking: bool) -> Mapping[str, Any]:
        """Return the facts for a trace's header."""
        return {
            "engine": self.name,
            "chosen": self._reason or UNSET,
            "pytorch": str(self.torch.__version__),
            "cuda": cuda_text(self.torch),
            "build": self.about(),
            "blind_spots": blind_spots(self.torch),
            "tables": self._tables,
            "differs": (*self._newer(), *key_differences(InstalledPyTorch())) or UNSET,
            "layout": UNSET if (layout := key_layout(self.torch._C)) == OURS else layout,
        }

    def about(self) -> str:
        """Return the release and build, in words."""
        return build_text(self.torch)

    def _newer(self) -> tuple[str, ...]:
        remark = newer_than_tested(self.torch.__version__)
        return (f"PyTorch {self.torch.__version__} is{remark.strip(' ()').join((' ', '.'))}",) if remark else ()

    @contextmanager
    def watching(self, watch: ProgramRecorder) -> Iterator[None]:
        """Record kernels, Nodes and the engine inside the block."""
        assert isinstance(watch, LiveRecorder)
        build = InstalledPyTorch(watch.cells.python.names)
        watch.operators.read(build)
        TENSOR_CLASSES.add(self.torch.Tensor)
        with (
            subclass_makers_followed(self.torch, watch),
            registrations_followed(self.torch, watch),
            queries_answered(self.torch, watch),
            begun_keys_watched(watch) as begun,
            saving_followed(watch, begun),
            compiler_unwatched(watch, lambda: originals_again(begun)) as unwatched,
            formatting_followed(self.torch, watch),
            modules_followed(self.torch, watch),
            watch.engine.watching(unwatched),
            watch.nodes.hooks.counted(),
            hooks_followed(self.torch, watch),
            lone_thread_watched(self.torch, watch.cells),
            our_frames_hidden(watch.base),
        ):
            watch.cells.put()
            try:
                yield
            finally:
                TENSOR_CLASSES.discard(self.torch.Tensor)  # a recorder of the model cannot number it
                watch.cells.take_out()
                if release(self.torch.__version__) != DESCRIBED:
                    self._tables = own_tables(build, watch.operators.called())
