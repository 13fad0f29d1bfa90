"""The engine that runs programs on an installed PyTorch and records them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from types import ModuleType
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType

from dispatchviz.core.seam import recorder
from dispatchviz.live.begun_keys import begun_keys_watched, originals_again
from dispatchviz.live.blind_spots import blind_spots
from dispatchviz.live.called_modules import modules_followed
from dispatchviz.live.changed_modules import modules_changed
from dispatchviz.live.compiled_regions import compiler_unwatched
from dispatchviz.live.custom_functions import saving_followed
from dispatchviz.live.hidden_frames import our_frames_hidden
from dispatchviz.live.installed_registrations import InstalledPyTorch
from dispatchviz.live.installed_torch import (
    DESCRIBED,
    build_text,
    cuda_text,
    installed_torch,
    is_pytorch,
    newer_than_tested,
    release,
)
from dispatchviz.live.kernel_calls import HANDING_OUT, hands_out_kernels
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
from dispatchviz.running.engine_choice.installed_release import installed_release
from dispatchviz.running.held_tensors import TENSOR_CLASSES
from dispatchviz.running.process.finalizers import left_to_process

if TYPE_CHECKING:
    from dispatchviz.core.record.trace_file import KeptTables
    from dispatchviz.running.program_recorder import ProgramRecorder
    from dispatchviz.running.recording import EngineName

NOT_IMPORTED = "none (the program has not imported PyTorch)"
"""The text for the device behind ``cuda`` until PyTorch is imported."""


class TorchEngine:
    """The installed PyTorch. ``reason`` says why ``--engine auto`` chose it.

    The program imports it. So PyTorch reads the environment and the loggers where it would on its own. A release before
    2.9 is imported at once, because all threads of the program must be counted (``lone_thread.py``).

    Raise InstalledTorchError if there is none, or if it cannot be watched.
    """

    name: EngineName = "torch"

    def __init__(self, reason: str = "") -> None:
        self._found = installed_release()
        self.torch: Any = None
        if self._found is None or release(self._found.number) < HANDING_OUT or "torch" in sys.modules:
            self.torch = installed_torch()
        self._reason = reason
        self._facts: Mapping[str, Any] = {}
        """The facts for a header that follow from the release and the build."""
        self._tables: KeptTables | UnsetType = UNSET

    def prepare(self) -> None:
        """Do nothing, because the program imports PyTorch."""

    def recorder(self) -> LiveRecorder:
        """Create the recorder."""
        watch = LiveRecorder()
        watch.records_parts = self.torch is None or hands_out_kernels(self.torch._C)
        return watch

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
        return {"engine": self.name, "chosen": self._reason or UNSET, **self._of_build(), "tables": self._tables}

    def _of_build(self) -> Mapping[str, Any]:
        if self.torch is None and self._found is not None:
            return {"pytorch": self._found.version, "cuda": NOT_IMPORTED, "build": self._found.build}
        if not self._facts:
            self._facts = {
                "pytorch": str(self.torch.__version__),
                "cuda": cuda_text(self.torch),
                "build": build_text(self.torch),
                "blind_spots": blind_spots(self.torch),
                "differs": (*self._newer(), *key_differences(InstalledPyTorch())) or UNSET,
                "layout": UNSET if (layout := key_layout(self.torch._C)) == OURS else layout,
            }
        return self._facts

    def _newer(self) -> tuple[str, ...]:
        remark = newer_than_tested(self.torch.__version__)
        return (f"PyTorch {self.torch.__version__} is{remark.strip(' ()').join((' ', '.'))}",) if remark else ()

    @contextmanager
    def watching(self, watch: ProgramRecorder) -> Iterator[None]:
        """Record kernels, Nodes and the engine inside the block, from the import of PyTorch on."""
        assert isinstance(watch, LiveRecorder)
        with ExitStack() as watched:
            if self.torch is None and is_pytorch(sys.modules.get("torch")):  # imported since this engine was created
                self.torch = installed_torch()
            if self.torch is not None:
                watched.enter_context(self._watched(watch))
                yield
                return

            def imported(module: ModuleType) -> None:
                if self.torch is None and watch in (recorder.listening, recorder.suspended):
                    watch.guarded(lambda: self._imported(watch, module, watched))

            with modules_changed(["torch"], imported):
                yield

    def _imported(self, watch: LiveRecorder, module: ModuleType, watched: ExitStack) -> None:
        """Watch PyTorch, which the program has just imported, unless it is another module of that name."""
        if is_pytorch(module):
            self.torch = installed_torch()
            left_to_process("torch")  # among them those that take PyTorch's own kernels out
            watched.enter_context(self._watched(watch))
            watch.engine_known()

    @contextmanager
    def _watched(self, watch: LiveRecorder) -> Iterator[None]:
        watch.attach(self.torch)
        build = InstalledPyTorch(watch.cells.python.names, in_order=False)
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
