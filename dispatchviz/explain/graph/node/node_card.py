"""A complete Node at a step: its members in sections, each with its value and purpose.

Values that the trace does not have are marked as such. Derived values: inputs from the tensors whose ``grad_fn`` it is,
the edges that this graph task needs from its exec_info, and hooks from their registration.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import backward_around, history
from dispatchviz.explain.graph.graph_node import NO_NUMBER, GraphEdge, GraphNode, GraphTensor, graph_node
from dispatchviz.explain.graph.node import members
from dispatchviz.explain.graph.node.node_hooks import HOOK_KINDS, hooks_of
from dispatchviz.explain.graph.node.node_state import has_parent, node_state
from dispatchviz.explain.things.keepers import freed_at
from dispatchviz.explain.things.thing import NodeThing, TensorThing, Thing
from dispatchviz.explain.trace_index.display_names import node_title, tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.explain.trace_index.recorded_engine import is_unseen
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import counted, listed, plain_dtype, shaped

_PYTHON = raw(DispatchKey.Python)


class Fact(Struct, frozen=True):
    """A member, its value at the step, and its purpose."""

    name: str
    value: str
    purpose: str = ""
    goto: int | None = None
    """The step that set the value."""
    about: Thing | None = None


class Section(Struct, frozen=True):
    """Members that belong together."""

    title: str
    facts: tuple[Fact, ...]


def node_card(trace: Trace, number: int, at: int) -> list[Section]:
    """Return all sections, in the order of the header."""
    known = history(trace)
    node = graph_node(trace, number, known.entries(number, at), at, known.order)
    return [
        Section("Numbers", tuple(_numbers(trace, node, at))),
        Section("Inputs: the gradients that it receives", tuple(_inputs(trace, node, at))),
        Section("Outputs: where its gradients go", tuple(_outputs(trace, node, at))),
        Section("Saved", tuple(_saved(trace, node, at))),
        Section("Hooks, in the order in which they run", tuple(_hooks(trace, node, at))),
        Section("Anomaly mode", tuple(_anomaly(trace, node, at))),
        Section("Running", tuple(_running(trace, node, at))),
        Section("Compiled autograd", tuple(_compiled(node))),
        Section("Python, ownership", tuple(_owned(trace, node, at))),
        Section("Threads", tuple(_threads())),
    ]


NOT_SEEN = "not seen in a release build"


def _purposes(table: tuple[members.Member, ...]) -> Iterator[Fact]:
    return (Fact(member.name, "", member.purpose) for member in table)


def _shown(name: str, value: str, goto: int | None = None, about: Thing | None = None) -> Fact:
    """Return a member of the table with its value at this step."""
    (purpose,) = (member.purpose for member in members.SHOWN if member.name == name)
    return Fact(name, value, purpose, goto, about)


def _owned(trace: Trace, node: GraphNode, at: int) -> Iterator[Fact]:
    yield Fact("name", node.name, "the name of its class; PyTorch no longer has a NoNamesGuard around the call")
    end = freed_at(trace, node.number)
    if end is None or end.seq > at:
        recorded = not is_unseen(trace.header, ev.NodeDeleted)
        yield _shown("release_resources", "not called yet" if recorded else f"{NOT_SEEN}, nor is AnomalyMetadata")
    else:
        along = "" if end.by is None else f", with {node_title(trace, end.by, at)}"
        about = None if end.by is None else NodeThing(end.by)
        yield _shown("release_resources", f"the Node is freed{along}", end.seq, about)
    yield from _purposes(members.PYTHON)


def _numbers(trace: Trace, node: GraphNode, at: int) -> Iterator[Fact]:
    made = index(trace).nodes.get(node.number)
    if node.sequence_nr == NO_NUMBER:
        yield Fact("sequence_nr", f"{NO_NUMBER}", "UINT64_MAX: it runs before all other Nodes as soon as it is ready")
    else:
        changed = history(trace).events.number_set(node.number, at)
        purpose = "the priority: among ready Nodes, the largest runs first; counted per thread"
        yield Fact("sequence_nr", str(node.sequence_nr), purpose, goto=changed.seq if changed else node.made)
    longest = "length of the longest path to a Node without edges; no path leads from a smaller number to a larger one"
    if not trace.header.only:  # in a recording of a part, edges may lead to Nodes whose number is unknown
        yield Fact("topological_nr", str(node.topological_nr), longest)
    if made is not None:
        yield Fact("thread_id", str(made.thread), "the thread that created it", goto=made.seq)
    yield _shown("has_parent_", {True: "true", False: "false", None: ""}[has_parent(trace, node.number, at)])
    yield from _purposes(members.NUMBERS)


# -- inputs and outputs -----------------------------------------------------------------------------------------------


def _inputs(trace: Trace, node: GraphNode, at: int) -> Iterator[Fact]:
    undefined = {
        event.input_nr
        for event in history(trace).events.of_node(node.number, ev.UndefinedInputAdded)
        if event.seq <= at
    }
    entries = max(len(node.inputs), *(nr + 1 for nr in undefined), 0)
    for number in range(entries):
        tensor = node.inputs[number] if number < len(node.inputs) else None
        name = f"input_metadata({number})"
        if tensor is not None:
            about = TensorThing(tensor.number)
            yield Fact(name, _metadata(trace, tensor, at), f"the gradient of {tensor.name} must match it", about=about)
        elif number in undefined:
            yield Fact(name, "was_default_constructed", "a placeholder: no gradient arrives here")
        else:
            yield Fact(name, "not in the trace")
    if not node.inputs and not undefined:
        yield Fact(
            "input_metadata",
            "none recorded so far",
            "shape, dtype and device of each gradient that it can receive",
        )
    yield _shown("num_inputs", str(entries))
    yield Fact("device()", *_device(node))
    yield Fact(
        "stream()",
        _stream(trace, node),
        "the stream of its first input on an accelerator: it runs on the stream of its forward call",
    )
    yield from _purposes(members.INPUTS)


def _metadata(trace: Trace, tensor: GraphTensor, at: int) -> str:
    made = index(trace).tensors.get(tensor.number)
    subclass = made is not None and bool(made.key_set & _PYTHON)
    shape = "" if tensor.shape is None else f"{shaped(tensor.shape)} "
    ending = ", is_tensor_subclass" if subclass else ""
    return f"{shape}{plain_dtype(tensor.dtype)} {tensor.device}{ending}"


def _device(node: GraphNode) -> tuple[str, str]:
    """Return the device of the first input that is not on the CPU. A graph's picture has the device of its queue
    instead.
    """
    devices = (tensor.device for tensor in node.inputs if tensor is not None)
    if any(device == "meta" for device in devices) and node.device in ("", "cpu"):
        return "meta", "the device of its first input that is not on the CPU; a meta device uses the CPU's ready queue"
    return node.device or "cpu", "the device of its first input that is not on the CPU; selects its ready queue"


def _stream(trace: Trace, node: GraphNode) -> str:
    if not node.device.startswith("cuda"):
        return "none: no input is on an accelerator"
    changed = [step for step in trace.steps_of(ev.StreamChanged) if step < node.made]
    event = trace[changed[-1]] if changed else None
    number = event.stream if isinstance(event, ev.StreamChanged) else 0
    return f"stream {number}" if number else "the default stream"


def _outputs(trace: Trace, node: GraphNode, at: int) -> Iterator[Fact]:
    for place, edge in enumerate(node.edges):
        title = "none: an empty edge" if edge.target is None else f"{node_title(trace, edge.target, at)}"
        to = "" if edge.target is None else f", input {edge.input_nr}"
        of = f"for {edge.argument}{f' = {edge.tensor}' if edge.tensor else ''}" if edge.argument else ""
        about = None if edge.target is None else NodeThing(edge.target)
        yield Fact(f"next_edge({place})", f"{title}{to}", of, about=about)
        yield Fact(f"should_compute_output({place})", *_computes(trace, edge, at))
    yield _shown("num_outputs", str(len(node.edges)))
    if not node.edges:
        yield Fact("next_edges", "none", "a sink: it passes no gradient on" if node.leaf else "")
    yield from _purposes(members.OUTPUTS)


def _computes(trace: Trace, edge: GraphEdge, at: int) -> tuple[str, str]:
    """Return texts: whether the edge is valid and, while a graph task runs, whether the task needs it."""
    valid = edge.target is not None
    purpose = "called while the graph is built: true if the edge is valid, so that its tensors must be saved"
    wanted = needs_edge(trace, edge.target, at)
    if wanted is None:
        return str(valid), purpose
    return str(valid), f"task_should_compute_output, for this graph task: {wanted}"


def needs_edge(trace: Trace, target: int | None, at: int) -> bool | None:
    """Return ``task_should_compute_output`` of an edge to a Node. None outside a backward pass, or before it is
    known.
    """
    backward = backward_around(trace, at)
    if is_unseen(trace.header, ev.ExecInfoPopulated):
        return None
    if backward is None or (backward.event.inputs and backward.exec_info_at(at) is None):
        return None
    return target is not None and (backward.needs(target) or bool(backward.captures(target)))


# -- saved values -----------------------------------------------------------------------------------------------------


def _saved(trace: Trace, node: GraphNode, at: int) -> Iterator[Fact]:
    for saved in node.variables:
        what = "undefined" if saved.tensor is None else f"{saved.tensor.name}, version {saved.version}"
        gone = "released; was " if node.released else ""
        about = None if saved.tensor is None else TensorThing(saved.tensor.number)
        output = (
            "a result: saved without its grad_fn, because otherwise the Node would own itself"
            if saved.is_output
            else ""
        )
        yield Fact(f"SavedVariable {saved.name}", f"{gone}{what}", output, about=about)
    for empty in history(trace).events.of_node(node.number, ev.VariableNotSaved):
        if empty.seq <= at:
            why = f"only the formula of edge {empty.edge} needs it, and that edge is empty"
            yield Fact(f"SavedVariable {empty.name}", "empty: not saved", why, empty.seq)
    shown = dict(node.attributes)
    for name, value in shown.items():
        yield Fact(name, value, "a plain value, which release_variables does not release")
    state = node_state(node.name)
    for name in () if state is None else state.values:
        if name not in shown:
            yield Fact(name, _unshown(trace, node.number, name, at), "a plain value")
    if node.leaf:
        owner = (
            "the leaf whose .grad it writes; the leaf refers back only weakly, because otherwise neither could be freed"
        )
        yield Fact("variable", node.leaf.name, owner, about=TensorThing(node.leaf.number))
    if not node.variables and not shown and not node.leaf and not (state and state.values):
        yield Fact("saved", "nothing")
    yield from _purposes(members.SAVED)


def _unshown(trace: Trace, node: int, name: str, at: int) -> str:
    """Return the text for a plain value without an event up to this step: it follows from an argument, is set later, or
    is unknown.
    """
    comes = any(event.name == name for event in history(trace).events.of_node(node, ev.AttributeSaved))
    if comes or (_scalar_type(trace, node, name, len(trace)) and history(trace).edges(node, at) is None):
        return "not set yet"
    return _scalar_type(trace, node, name, at) or "not in the trace"


def _scalar_type(trace: Trace, node: int, name: str, at: int) -> str:
    """Return the dtype of an argument, as in ``self_scalar_type``; empty if the trace does not have it."""
    argument = name.removesuffix("_scalar_type")
    edges = history(trace).edges(node, at)
    tensor = dict(edges.inputs).get(argument) if edges and argument != name else None
    made = None if tensor is None else index(trace).tensors.get(tensor)
    return "" if made is None else plain_dtype(made.dtype)


# -- hooks, anomaly mode ----------------------------------------------------------------------------------------------


def _hooks(trace: Trace, node: GraphNode, at: int) -> Iterator[Fact]:
    there = hooks_of(trace, node.number, node.leaf.number if node.leaf else None, at)
    for kind, member, purpose in HOOK_KINDS:
        own = [hook for hook in there if hook.kind == kind]
        names = listed([_hook(trace, hook, at) for hook in own])
        yield Fact(member, names or "none recorded", purpose, goto=own[0].seq if own else None)
    yield from _purposes(members.HOOKS)


def _hook(trace: Trace, hook: ev.HookRegistered, at: int) -> str:
    return hook.function if hook.tensor is None else f"{hook.function} of {tensor_name(trace, hook.tensor, at)}"


def _anomaly(trace: Trace, node: GraphNode, at: int) -> Iterator[Fact]:
    events = history(trace).events
    stored = [event for event in events.of_node(node.number, ev.StackStored) if event.seq <= at]
    parents = [event for event in events.of_node(node.number, ev.ParentAssigned) if event.seq <= at]
    if not is_unseen(trace.header, ev.StackStored):
        kept = "traceback_" if stored else "no stack recorded"
        goto = stored[-1].seq if stored else None
        yield Fact("AnomalyMetadata", kept, "filled if anomaly mode is on when the Node is created", goto)
    for event in parents:
        title = node_title(trace, event.parent_node, at)
        yield Fact("parent", title, "created while that Node ran", event.seq, NodeThing(event.parent_node))
    yield from _purposes(members.ANOMALIES)


# -- running ----------------------------------------------------------------------------------------------------------


def _running(trace: Trace, node: GraphNode, at: int) -> Iterator[Fact]:
    event = trace[at]
    running = event if isinstance(event, ev.NodeStarted) else around(trace, at, ev.NodeStarted)
    current = running is not None and running.node == node.number
    yield Fact("state", f"{node.state.value}{', the current Node' if current else ''}")
    yield from _purposes(members.RUNNING)


def _compiled(node: GraphNode) -> Iterator[Fact]:
    yield Fact("is_traceable", _traceable(node.name), "true if apply consists of recorded operations")
    state_only = (
        "means that all state is saved tensors and values that shape the graph; read only if is_traceable is false"
    )
    yield Fact("passes_state_transparently", "False", state_only)
    state = node_state(node.name)
    names = [] if state is None else [*state.tensors, *state.values]
    collected = (listed(names) or "nothing") if state else "defined by its class"
    yield Fact("compiled_args", collected, "collects all state for the cache key of a compiled backward")
    swapped = (listed(list(state.tensors)) or "nothing") if state else "defined by its class"
    tensors = "" if state is None else f", of {counted(len(names), 'member')} the tensors"
    yield Fact("apply_with_saved", swapped, f"swaps the saved variables{tensors}, calls apply, and swaps them back")
    yield from _purposes(members.COMPILED)


def _traceable(name: str) -> str:
    from dispatchviz.core.autograd.graph.node import TraceableFunction
    from dispatchviz.core.generated import nodes

    kind = getattr(nodes, name, None)
    if not isinstance(kind, type):
        return "False"
    return "True: a TraceableFunction" if issubclass(kind, TraceableFunction) else "False: a view function"


def _threads() -> Iterator[Fact]:
    yield from _purposes(members.THREADS)
    yield from (Fact(f"rule {number}", "", rule) for number, rule in enumerate(members.RULES, 1))
