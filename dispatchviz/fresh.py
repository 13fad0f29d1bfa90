"""The machine as a new process finds it: a program that runs here twice must draw, count and record the same.

The thread's sets and modes, its sequence numbers and those of device threads, the numbers of backwards, anomaly mode,
the open dual levels, CUDA streams, the default random generators, switches, print options, autocast's cache, and no
registration of another program.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from dispatchviz.core import autocast, streams, warning
from dispatchviz.core.autograd import anomaly_mode, device_threads, forward_grad, graph_task
from dispatchviz.core.context import Context, exchange_context
from dispatchviz.core.default_device import set_default_device
from dispatchviz.core.dtype import default_dtype, float32, set_default_dtype
from dispatchviz.core.native.random import DEFAULT_SEED, manual_seed
from dispatchviz.core.thread_state import State, thread
from dispatchviz.torch import _tensor_str
from dispatchviz.torch._library.libraries import registrations_undone
from dispatchviz.torch.autograd import forward_ad


@contextmanager
def machine_as_new() -> Iterator[None]:
    """Inside the block nothing has happened yet; afterwards the thread is as it was."""
    before, thread.state = thread.state, State(thread.state.thread_id)
    ids, graph_task._ids = graph_task._ids, itertools.count()
    anomaly = anomaly_mode.enabled, anomaly_mode.check_nan
    anomaly_mode.set_enabled(False)
    casts = autocast.exchange_cache({})
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
        with warning.nothing_said(), registrations_undone():
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
        anomaly_mode.set_enabled(*anomaly)
        forward_grad.exchange_levels(levels)
        forward_ad.exchange_current_level(level)
        autocast.exchange_cache(casts)
