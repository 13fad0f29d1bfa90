"""The code, the sources and the facts about all Nodes that keys need, loaded in the background once the first screen is
complete, so that no key waits for them.

The list of modules has the code that is loaded on first use: panes, screens over the stepper, and what they in turn
load when they are needed. ``tests/tui/test_loaded_ahead.py`` looks for keys that load more.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from threading import Thread

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.foundation.garbage_collection import exempt_so_far
from dispatchviz.views.panes.pane_list import PANES

MODULES = (
    "dispatchviz.explain.cells.registration.program_registrations",
    "dispatchviz.explain.graph.node.node_of_step",
    "dispatchviz.explain.graph.node.node_state",
    "dispatchviz.explain.graph.selected_nodes",
    "dispatchviz.explain.predictions.trace_predictions",
    "dispatchviz.explain.things.crossing",
    "dispatchviz.explain.things.step_things",
    "dispatchviz.views.details.registration_rows",
    "dispatchviz.views.details.traceback_rows",
)
"""The modules that functions import themselves."""


def load_ahead(trace: Trace) -> Thread:
    """Load everything in a thread. Quitting does not wait for it."""
    thread = Thread(target=_load, args=(trace,), daemon=True)
    thread.start()
    return thread


def _load(trace: Trace) -> None:
    for name in modules():
        import_module(name)
    from dispatchviz.explain.graph.graph_history import history
    from dispatchviz.explain.graph.node.node_state import node_state
    from dispatchviz.explain.locations.source_functions import read_ahead

    node_state("AddBackward0")  # the classes of all Nodes, with their formulas
    read_ahead()
    history(trace).read_ahead()
    exempt_so_far()


def modules() -> Iterator[str]:
    """Yield the names of the modules, those of the first keys first."""
    yield from (f"dispatchviz.views.panes.{module}" for _, module in PANES.values())
    yield from MODULES
    from dispatchviz.tui import screens

    yield from (f"{screens.__name__}.{found.name}" for found in pkgutil.iter_modules(screens.__path__))
