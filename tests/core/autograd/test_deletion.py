"""The time and order in which Nodes are freed, and the recorded events, compared with PyTorch."""

from __future__ import annotations

import gc
import mmap
import random
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import dispatchviz
import dispatchviz.torch as model
from dispatchviz.core.autograd.graph.node_life import follow
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.builders.deletion_order import in_order
from dispatchviz.core.record.event_builder import EventBuilder
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.seam import recorder
from tests.explain.programs import traced

from .deletion_programs import PROGRAMS
from .leaves import of_kind


def leaf(torch: Any) -> Any:
    return torch.ones(2, requires_grad=True)


class Watched:
    """The environment of a program, and the Nodes that are freed in it."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.dead: list[str] = []
        self.log: list[str] = []
        self.names: dict[int, str] = {}
        """Serial number of a recorded Node to its tag."""
        self.marks: list[tuple[str, int]] = []
        """The marks, each with the number of events so far."""
        watched = self

        class Tag:
            """An object that reports its end."""

            def __init__(self, name: str) -> None:
                self.name = name

            def __del__(self) -> None:
                watched.dead.append(self.name)

        self.tag_class = Tag

    def run(self, source: str) -> list[str]:
        """Return the names of the Nodes that were freed before each mark."""
        space = {"torch": self.torch, "x": leaf(self.torch), "tag": self.tag, "Tag": self.tag_class, "mark": self.mark}
        exec(source, space)
        return self.log

    def tag(self, tensor: Any, name: str) -> None:
        node = tensor.grad_fn
        node.metadata["tag"] = self.tag_class(name)
        self.names[getattr(node, "_number", -1)] = name

    def mark(self, text: str) -> None:
        self.log.append(mark_line(text, self.dead))
        self.dead.clear()
        if recorder.active is not None:
            self.marks.append((text, len(recorder.active.events)))


def mark_line(text: str, names: list[str]) -> str:
    return " ".join([f"{text}:", *sorted(names)])


@pytest.mark.parametrize("name", PROGRAMS)
def test_node_is_freed_when_pytorch_frees_it(torch: Any, name: str) -> None:
    source, expected = PROGRAMS[name]
    assert "; ".join(Watched(torch).run(source)) == expected


@pytest.mark.parametrize("name", PROGRAMS)
def test_recording_frees_nodes_at_the_same_time_and_records_it(name: str) -> None:
    source, expected = PROGRAMS[name]
    watched = Watched(model)
    with dispatchviz.record() as trace:
        first = recorder.active.first_node if recorder.active is not None else 0
        watched.run(source)
    assert "; ".join(watched.log) == expected
    behind, begin = [], 0
    for text, end in watched.marks:
        freed = [watched.names.get(event.node + first) for event in trace[begin:end] if type(event) is ev.NodeDeleted]
        behind.append(mark_line(text, [tag for tag in freed if tag is not None]))
        begin = end
    if "Tag(" not in source:  # those tags are not put there by ``tag``
        assert "; ".join(behind) == expected


# -- the order ---------------------------------------------------------------------------------------------------------


def names_by_saving(torch: Any, made: Callable[[Callable[..., Any]], Any]) -> list[str]:
    """The Nodes in the order in which they drop their saved tensors. No Node is read, since that would change the
    order.
    """
    dropped: list[str] = []

    class Packed:
        def __init__(self, name: str) -> None:
            self.name = name

        def __del__(self) -> None:
            dropped.append(self.name)

    def named(name: str, function: Callable[..., Any], *args: Any) -> Any:
        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: Packed(name), lambda packed: None):
            return function(*args)

    last = made(named)
    dropped.clear()  # what does not lead to it is gone already
    del last
    return list(dict.fromkeys(dropped))


def names_of_events(made: Callable[[Callable[..., Any]], Any]) -> list[str]:
    """The Nodes in the order of the events of a recording."""
    names: dict[int, str] = {}

    def named(name: str, function: Callable[..., Any], *args: Any) -> Any:
        result = function(*args)
        names[result._grad_fn._number] = name
        return result

    with dispatchviz.record() as trace:
        first = recorder.active.first_node if recorder.active is not None else 0
        last = made(named)
        begin = 0 if recorder.active is None else len(recorder.active.events)
        del last
    freed = [names.get(event.node + first) for event in trace[begin:] if type(event) is ev.NodeDeleted]
    return [name for name in freed if name is not None]


def function_of(torch: Any) -> Any:
    class Sum(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            return x + y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad, grad

    return Sum.apply


def drawn(torch: Any, seed: int) -> Callable[[Callable[..., Any]], Any]:
    """Return a random graph, in which some Nodes are those of a Function."""

    def made(named: Callable[..., Any]) -> Any:
        rng = random.Random(seed)
        own = function_of(torch)
        tensors = [leaf(torch)]
        for number in range(rng.randint(2, 9)):
            function = own if rng.random() < 0.2 else torch.atan2
            tensors.append(named(str(number), function, rng.choice(tensors[-4:]), rng.choice(tensors[-4:])))
        return tensors[-1]

    return made


ORDERS = {5: "5 3 2 4 0 1", 11: "8 5 4 0 1", 24: "7 3 0 6 5 1", 27: "8 5 1 4 3 2 0", 35: "6 2 5 3 1 0"}
"""The order of PyTorch 2.13 by seed."""


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.torch
def test_events_are_in_the_order_of_installed_pytorch(seed: int) -> None:
    torch = pytest.importorskip("torch")
    theirs = names_by_saving(torch, drawn(torch, seed))
    assert names_of_events(drawn(model, seed)) == theirs
    assert " ".join(theirs) == ORDERS.get(seed, " ".join(theirs))


@pytest.mark.parametrize("seed", ORDERS)
def test_events_are_in_the_stored_order_of_pytorch(seed: int) -> None:
    assert " ".join(names_of_events(drawn(model, seed))) == ORDERS[seed]


def test_a_node_is_freed_with_the_one_that_drops_the_last_edge_to_it() -> None:
    edges = {0: (1, 2), 2: (3, 1), 1: (1_000,)}
    assert list(in_order([0, 2, 3, 1], edges, ())) == [(0, None), (2, 0), (1, 2), (3, 2)]
    assert list(in_order([0, 2, 3, 1], edges, {2})) == [(0, None), (2, 0), (1, 2), (3, 2)]
    assert list(in_order([0, 2, 3, 1], {0: (2, 1), 2: (1, 3)}, {2})) == [(0, None), (2, 0), (3, 2), (1, 0)]
    assert list(in_order([5, 7], {}, ())) == [(5, None), (7, None)]


# -- recorded deletions ------------------------------------------------------------------------------------------------


def deleted(trace: Trace) -> list[ev.NodeDeleted]:
    return of_kind(trace, ev.NodeDeleted)


def line_of(trace: Trace, seq: int) -> ev.SourceLine:
    line = trace[trace.columns.lines[seq]]
    assert isinstance(line, ev.SourceLine)
    return line


def test_long_chain_is_freed_at_once_during_a_recording() -> None:
    length = 5_000
    with dispatchviz.record() as trace:
        z = leaf(model)
        for _ in range(length):
            z = z.neg()
        del z
    freed = deleted(trace)
    assert len(freed) == length + 1
    assert [event.by for event in freed] == [None, *[event.node for event in freed[:-1]]]


def test_nodes_freed_after_the_recording_are_not_recorded() -> None:
    with dispatchviz.record() as trace:
        z = leaf(model) * 2
        rec = recorder.active
    assert rec is not None
    del z
    assert not deleted(trace)
    assert not rec.notes


def test_end_of_an_older_node_is_recorded() -> None:
    y = leaf(model) * 2
    with dispatchviz.record() as trace:
        z = y * 3
        del y, z
    assert [event.by is None for event in deleted(trace)] == [True, False]


def test_nodes_freed_by_the_garbage_collector_are_not_recorded() -> None:
    with dispatchviz.record() as trace:
        z = leaf(model) * 2
        node = weakref.ref(z.grad_fn)
        z.grad_fn.metadata["cycle"] = z
        del z
        assert node() is not None
        gc.collect()
        assert node() is None
    assert not deleted(trace)


ON_A_THREAD = """
import threading, torch
kept = [torch.ones(2, requires_grad=True).sin()]
def work():
    z = torch.ones(2, requires_grad=True).exp()
    kept.clear()
    del z
thread = threading.Thread(target=work)
thread.start()
thread.join()
last = torch.ones(2, requires_grad=True).cos()
del last
"""


def test_node_freed_on_another_thread_is_recorded_there() -> None:
    trace = traced(ON_A_THREAD)
    names = {event.node: event.name for event in trace if isinstance(event, ev.NodeCreated)}
    freed = [(names[event.node], event, line_of(trace, event.seq)) for event in deleted(trace)]
    assert [(name, line.line, event.parent) for name, event, line in freed if event.by is None] == [
        ("SinBackward0", 6, freed[0][2].seq),
        ("ExpBackward0", 7, freed[2][2].seq),
        ("CosBackward0", 12, freed[4][2].seq),
    ]
    assert [event.by for _, event, _ in freed[1::2]] == [event.node for _, event, _ in freed[::2]]


@pytest.mark.parametrize("threads", [False, True])
def test_no_python_code_runs_where_a_node_is_freed(threads: bool) -> None:
    """The exception of a signal handler would be lost in Python code there, Ctrl+C among them."""
    called: list[str] = []
    with dispatchviz.record() as trace:
        if threads:
            thread = Thread(target=leaf, args=(model,))
            thread.start()
            thread.join()
        z = leaf(model).sin().cos()
        sys.setprofile(lambda frame, event, arg: called.append(frame.f_code.co_name) if event == "call" else None)
        del z
        sys.setprofile(None)
    assert len(deleted(trace)) == 3
    assert called == []


def test_nodes_freed_by_two_threads_are_recorded_on_each() -> None:
    class Builder(EventBuilder):
        def __init__(self) -> None:
            super().__init__()
            self.freed: list[tuple[int, list[int]]] = []

        def nodes_freed(self, freed: list[int]) -> None:
            self.freed.append((self.thread, freed))

    builder, notes, lives = Builder(), list[Any](), []
    for number in range(5):
        node = model.zeros(1, requires_grad=True).exp().grad_fn
        assert node is not None
        follow(node, number, notes.append)
        lives.append(node._life)
    main = builder.thread
    builder.read([lives[0], main + 1, lives[1], main + 1, lives[2], main, lives[3], "leave", main + 1, lives[4]])
    assert builder.freed == [(main, [0]), (main + 1, [1, 2]), (main, [3]), (main + 1, [4])]
    assert builder.thread == main


CYCLES = {
    "tensor hook": "z = x * x; tag(z, 'z'); z.register_hook(lambda grad, z=z: z)",
    "metadata": "z = x * x; tag(z, 'z'); z.grad_fn.metadata['z'] = z",
    "create_graph": "(x * x).sum().backward(create_graph=True); tag(x.grad, 'z')",
}


@pytest.mark.parametrize("cycle", CYCLES)
@pytest.mark.filterwarnings("ignore:Using backward")
def test_a_cycle_of_references_is_never_freed_by_pytorch(torch: Any, cycle: str) -> None:
    """PyTorch leaks here and the model does not: ``docs/differences.md``."""
    watched = Watched(torch)
    watched.run(f"{CYCLES[cycle]}\nz = None\ndel x")
    gc.collect()
    assert ("z" in watched.dead) == (torch is model)


# -- what the rules name -----------------------------------------------------------------------------------------------


HELD = {
    "node.h": "struct TORCH_API Node : c10::intrusive_ptr_target",
    "edge.h": "c10::intrusive_ptr<Node> function;",
    "engine.h": "c10::intrusive_ptr<Node> fn_;",
    "variable.h": "c10::weak_intrusive_ptr<Node> grad_accumulator_;",
}


@pytest.mark.torch
def test_random_graphs_are_freed_by_the_rules() -> None:
    torch = pytest.importorskip("torch")
    root = Path(torch.__file__).parent
    headers = root / "include/torch/csrc/autograd"
    for name, text in HELD.items():
        assert text in (headers / name).read_text("utf-8"), name
    assert "c10::intrusive_ptr<Node> grad_fn_;" in (headers / "variable.h").read_text("utf-8")
    assert not any("deleteNode" in file.read_text("utf-8") for file in headers.rglob("*.h"))
    generator = Path(pytest.importorskip("torchgen").__file__).parent / "packaged/autograd/gen_variable_type.py"
    assert "grad_fn = c10::make_intrusive<${op}>(${op_ctor});" in generator.read_text("utf-8")
    library = (root / "lib/libtorch_cpu.so").open("rb")
    with library, mmap.mmap(library.fileno(), 0, access=mmap.ACCESS_READ) as symbols:
        assert symbols.find(b"8autogradL15gatherFunctions") >= 0
        assert symbols.find(b"8autograd4Node17release_resourcesEv") >= 0
        assert symbols.find(b"8autograd10deleteNode") < 0
