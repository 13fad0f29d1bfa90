"""The state of a new process: a program that runs twice has equal random numbers and traces.

The state covers the thread's key sets and modes, its sequence numbers and those of device threads, the numbers of
backwards, anomaly mode, the open dual levels, CUDA streams, the default random generators, switches, print options,
autocast's cache, and the absence of registrations from other programs. The modes of the process
(``core/seam/process_modes.py``) are off, so hot functions are those without modes: the next program does not pay for
modes that another one used.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from dispatchviz.core.autograd.engine import device_threads, engine_streams, graph_task
from dispatchviz.core.autograd.forward_mode import forward_grad
from dispatchviz.core.autograd.kernels import autograd_fallback
from dispatchviz.core.bindings.default_device import set_default_device
from dispatchviz.core.device import private_backend, streams
from dispatchviz.core.layers.autocast import autocast_mode
from dispatchviz.core.native.random.generator import DEFAULT_SEED, manual_seed
from dispatchviz.core.seam.process_modes import NEW_PROCESS, Mode, process_modes
from dispatchviz.core.tensor.dtype import default_dtype, float32, set_default_dtype
from dispatchviz.core.thread import warning
from dispatchviz.core.thread.context import Context, exchange_context
from dispatchviz.core.thread.thread_state import State, several_alive, thread
from dispatchviz.foundation.lazy_modules import is_unloaded
from dispatchviz.torch import _tensor_str, compiler
from dispatchviz.torch._functorch import forward_transforms
from dispatchviz.torch._library.libraries import registrations_undone
from dispatchviz.torch.autograd import forward_ad, mutation_on_saved
from dispatchviz.torch.backends import mha
from dispatchviz.torch.utils import _python_dispatch, checkpoint_frames

_SWITCHES: tuple[tuple[ModuleType, str, Any], ...] = (
    (private_backend, "chosen", ""),
    (autograd_fallback, "_mode", autograd_fallback.WARN),
    (engine_streams, "warn_on_accumulate_grad_stream_mismatch", True),
    (mha, "_enabled", True),
    (checkpoint_frames, "_early_stop", None),
    (compiler, "_default_backend", "inductor"),
    (mutation_on_saved, "_enabled", False),
    (forward_transforms, "_nesting", 0),
    (_python_dispatch, "_open_blocks", 0),
)
"""Variables of modules, with their initial values."""


@contextmanager
def _switches_as_new() -> Iterator[None]:
    before = [(module, name, _switch(module, name, first)) for module, name, first in _SWITCHES]
    _set_switches(_SWITCHES)
    try:
        yield
    finally:
        _set_switches(before)


def _switch(module: ModuleType, name: str, first: Any) -> Any:
    """Return the value of a variable, or its initial value if the module is not loaded yet."""
    return first if is_unloaded(module) else getattr(module, name)


def _set_switches(values: Iterable[tuple[ModuleType, str, Any]]) -> None:
    """Set variables. A module that is not loaded yet will have its initial values."""
    for module, name, value in values:
        if not is_unloaded(module):
            setattr(module, name, value)


@contextmanager
def clean_process_state() -> Iterator[None]:
    """Give the process the state of a new one inside the block. Afterwards the thread has its old state."""
    before, thread.state = thread.state, State(thread.state.thread_id)
    ids, graph_task._ids = graph_task._ids, itertools.count()
    modes = process_modes.exchange({**NEW_PROCESS, Mode.THREADS: int(several_alive())})
    casts = autocast_mode.exchange_cache({})
    devices = device_threads.exchange_states({})
    queues = streams.exchange_state()
    levels, level = forward_grad.exchange_levels([]), forward_ad.exchange_current_level(-1)
    manual_seed(DEFAULT_SEED)
    dtype = default_dtype()
    set_default_dtype(float32)
    set_default_device(None)
    switches = exchange_context(Context())
    options = _tensor_str.get_printoptions()
    _tensor_str.set_printoptions(profile="default")
    try:
        with warning.reset_warnings(), registrations_undone(), _switches_as_new():
            yield
    finally:
        thread.state = before
        set_default_dtype(dtype)
        set_default_device(None)
        _tensor_str.set_printoptions(**options)
        exchange_context(switches)
        graph_task._ids = ids
        device_threads.exchange_states(devices)
        streams.exchange_state(queues)
        forward_grad.exchange_levels(levels)
        forward_ad.exchange_current_level(level)
        autocast_mode.exchange_cache(casts)
        process_modes.exchange({**modes, Mode.THREADS: int(several_alive())})
