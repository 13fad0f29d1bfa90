"""The frames between Python and a Node's function in a backward pass: ``engine.cpp`` and ``python_engine.cpp``.

The caller's own thread evaluates the Nodes of the CPU. A thread of the engine evaluates those of another device. Its
stack begins in ``thread_init`` while the caller waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.explain.calls.call_stack import CALLS_PYTHON, Frame
from dispatchviz.explain.calls.hook_frames import Caller, called_frames
from dispatchviz.explain.codegen.generated_files import AUTOGRAD
from dispatchviz.explain.locations.pytorch_locations import ENGINE, NODE

PYTHON_ENGINE = "torch/csrc/autograd/python_engine.cpp"


class Part(NamedTuple):
    """A function of the engine."""

    function: str
    file: str
    role: str = "engine"


BEFORE = (
    Part("THPEngine_run_backward", PYTHON_ENGINE, "binding"),
    Part("torch::autograd::python::PythonEngine::execute", PYTHON_ENGINE),
)
"""The functions outside ``Engine::execute``."""

ON_CALLER = (
    Part("torch::autograd::python::PythonEngine::execute_with_graph_task", PYTHON_ENGINE),
    Part("torch::autograd::Engine::execute_with_graph_task", ENGINE),
    Part("torch::autograd::Engine::thread_main", ENGINE),
)
ON_DEVICE = (
    Part("torch::autograd::python::PythonEngine::thread_init", PYTHON_ENGINE),
    Part("torch::autograd::Engine::thread_init", ENGINE),
    Part("torch::autograd::Engine::thread_main", ENGINE),
)
"""The functions between ``execute``, or the beginning of a thread, and ``evaluate_function``."""

CALLS_NODE = Part("torch::autograd::Node::operator()", NODE)

GENERATED = "torch::autograd::generated::"


def backward_frames(frames: list[Frame]) -> Iterator[Frame]:
    """Yield the frames of ``BackwardStarted`` and those outside them."""
    for part in BEFORE:
        yield Frame(part.function, part.file, frames[0].seq, part.role)
    yield from frames


def node_frames(node: ev.NodeStarted, frames: list[Frame], hook: Caller | None) -> Iterator[Frame]:
    """Yield the frames of ``NodeStarted``, those around ``evaluate_function``, and those between it and the Node's own
    function or the hook.
    """
    evaluate, *below = frames
    for part in ON_CALLER if node.thread == "caller" else ON_DEVICE:
        note = "" if node.thread == "caller" or part != ON_DEVICE[0] else f"thread {node.thread} begins its stack here"
        yield Frame(part.function, part.file, node.seq, part.role, note)
    yield evaluate
    if hook is None or hook.in_apply:
        yield Frame(CALLS_NODE.function, CALLS_NODE.file, node.seq, CALLS_NODE.role)
        yield below[0]
    if hook is not None:
        called = called_frames(hook)
        yield from (Frame(function, file, node.seq, CALLS_PYTHON) for function, file in called)


def within_node(node: ev.NodeStarted, apply: Frame) -> Iterator[Frame]:
    """Yield the frames in which a generated Node's ``apply`` evaluates its formulas."""
    if apply.title.startswith(GENERATED):
        title = f"{apply.title.removesuffix('::apply')}_apply_functional"
        yield Frame(title, f"{AUTOGRAD}/Functions.cpp", node.seq, "formulas")
