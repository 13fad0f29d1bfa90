"""Readers of sentences about transforms, Nodes and the engine, which count the events again."""

from __future__ import annotations

import re

from dispatchviz.core.keys.key_set import autograd_dispatch_keyset, raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.explain.graph.engine_state import engine_state
from dispatchviz.explain.graph.queued_nodes import queue_device
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.foundation.english import counted, ordinal
from tests.claims.together.reading import Problems, Step, beside, reads
from tests.claims.together.so_far import Queued

LARGEST = (1 << 64) - 1
"""The sequence number of an AccumulateGrad."""


def _others(step: Step) -> list[Queued]:
    """Return the other Nodes that wait in the queue of the event's Node, of its backward pass and of deeper ones."""
    event = step.event
    ready = step.so_far.ready(step.seq, queue_device(event.device))
    return [each for each in ready if each.node != event.node]


def _as_deep(step: Step) -> list[Queued]:
    depth = step.so_far.backward(step.seq).depth
    return [each for each in _others(step) if each.depth >= depth]


@reads(r"it is the only Node that is ready(?: in the queue of \S+)?\.", "Node runs, no other waits")
def no_other(step: Step, found: re.Match[str]) -> Problems:
    yield from (f"Node {each.node} waits there, too" for each in _others(step))


@reads(r"where nothing else waits", "queued alone")
def queued_alone(step: Step, found: re.Match[str]) -> Problems:
    yield from (f"Node {each.node} waits there, too" for each in _others(step))


@reads(r"it has the largest sequence number of the ready Nodes, (\d+)", "Node of the largest number runs")
def largest(step: Step, found: re.Match[str]) -> Problems:
    if int(found[1]) != step.event.sequence_nr:
        yield f"its number is {step.event.sequence_nr}"
    numbers = [each.sequence_nr for each in _as_deep(step)]
    if not numbers or max(numbers) >= step.event.sequence_nr:
        yield f"those that wait have the numbers {numbers}"


@reads(r"no ready Node has a larger sequence number", "Node runs, equals wait")
def none_larger(step: Step, found: re.Match[str]) -> Problems:
    numbers = [each.sequence_nr for each in _as_deep(step)]
    if not numbers or max(numbers) != step.event.sequence_nr:
        yield f"those that wait have the numbers {numbers}"


@reads(r"every AccumulateGrad has the largest sequence number", "AccumulateGrad runs before others")
def largest_there_is(step: Step, found: re.Match[str]) -> Problems:
    if step.event.sequence_nr != LARGEST or not step.event.name.endswith("AccumulateGrad"):
        yield f"it is {step.event.name} with the number {step.event.sequence_nr}"
    if not _as_deep(step):
        yield "no other waits"


@reads(r"which goes first regardless of sequence numbers", "Node of the inner pass runs")
def inner_pass(step: Step, found: re.Match[str]) -> Problems:
    if _as_deep(step) or not _others(step):
        yield f"{_others(step)} wait"


@reads(r"GraphRoot( \(n\d+\))? runs first", "GraphRoot runs")
def graph_root(step: Step, found: re.Match[str]) -> Problems:
    backward = step.so_far.backward(step.seq)
    ran = [each for each in step.trace.children(backward.seq) if isinstance(each, ev.NodeStarted)]
    if ran[0].seq != step.seq:
        yield f"{ran[0].name} has run before it"


@reads(r"the first gradient to arrive there", "gradient stored")
def first_to_arrive(step: Step, found: re.Match[str]) -> Problems:
    place = (step.so_far.backward(step.seq).seq, step.event.node, step.event.input_nr)
    if (number := step.so_far.arrived[place]) != 1:
        yield f"it is gradient {number}"


@reads(
    r"The (?:last of (\w+ gradients)|(only) gradient|last gradient) that .* waits for has arrived",
    "last gradient arrived",
    "last gradient arrived, to be captured",
)
def all_arrived(step: Step, found: re.Match[str]) -> Problems:
    backward = step.so_far.backward(step.seq)
    counts = [each for each in step.trace.children(backward.seq) if isinstance(each, ev.DependenciesCounted)]
    edges = dict(counts[0].counts).get(step.event.node, 0) if counts else 0
    if step.event.left:
        yield f"{step.event.left} are still to come"
    if found[1] and edges and found[1] != counted(edges, "gradient"):
        yield f"it waits for {edges}"
    if found[2] and edges != 1:
        yield f"{edges} edges lead to it"


@reads(r"the (\w+) final callback(?: of this graph task)?,", "final callback queued")
@reads(r"the (\w+) final callback(?: of this graph task)?,", "final callback runs")
def nth_callback(step: Step, found: re.Match[str]) -> Problems:
    if found[1] != ordinal(step.event.position + 1):
        yield f"its position is {step.event.position}"


@reads(r"its (\w+) result stays|becomes its (\w+) result", "nothing captured", "gradient captured")
def nth_result(step: Step, found: re.Match[str]) -> Problems:
    if (found[1] or found[2]) != ordinal(step.event.position + 1):
        yield f"its position is {step.event.position}"


@reads(
    r"only the paths to .* are needed \(exec_info\), so (no Node)?", "exec_info needs Nodes", "exec_info needs no Node"
)
def only_paths(step: Step, found: re.Match[str]) -> Problems:
    """A requested Node to which no path leads is needed too, but it is not in the graph."""
    roots = [node for node, _ in step.so_far.backward(step.seq).roots]
    needed = step.so_far.reached(roots) & set(step.event.needed)
    if bool(needed) != (found[1] is None):
        yield f"{needed} are needed"
    if both := {node for node, _ in step.event.pruned} & set(step.event.needed):
        yield f"{both} are needed and pruned"


@reads(r"the smallest among the requested Nodes", "Node pruned by its topological number")
def pruned_by_number(step: Step, found: re.Match[str]) -> Problems:
    if "topological_nr" not in {why for _, why in step.event.pruned}:
        yield "none is pruned by its number"


@reads(r"There are none", "no edges counted")
def none_counted(step: Step, found: re.Match[str]) -> Problems:
    if step.event.counts:
        yield f"{len(step.event.counts)} Nodes have edges"


@reads(
    r"no (?:other )?leaf's \.grad is written|Only requested leaves get a \.grad",
    "backward of a gradient edge starts",
    "backward of some inputs starts",
    "grad starts",
)
def no_other_leaf(step: Step, found: re.Match[str]) -> Problems:
    """The leaves that this pass writes are the ones that were passed; none if it returns gradients."""
    inside = range(step.seq, step.trace.ends[step.seq] + 1)
    written = {
        each.tensor
        for each in map(step.trace.__getitem__, step.trace.steps_of(ev.GradientAccumulated))
        if each.seq in inside and step.so_far.backward(each.seq).seq == step.seq
    }
    allowed = set() if found[0].lower().startswith("no leaf") else set(step.event.input_tensors)
    if None not in allowed and written - allowed:
        yield f"the .grad of {written - allowed} is written"


# -- edges ------------------------------------------------------------------------------------------------------------


@reads(r"the (\w+)(?:, for .+?,)? (is empty|leads to)", "edges")
def each_edge(step: Step, found: re.Match[str]) -> Problems:
    edges = step.event.edges
    places = {ordinal(at + 1): edge for at, edge in enumerate(edges)}
    if found[1] in places and (places[found[1]] is None) != (found[2] == "is empty"):
        yield f"the edges are {edges}"


@reads(r"gets one edge\. It (?:is for .+? and )?(is empty|leads to)", "one edge")
def the_one_edge(step: Step, found: re.Match[str]) -> Problems:
    edges = step.event.edges
    if len(edges) != 1 or (edges[0] is None) != (found[1] == "is empty"):
        yield f"the edges are {edges}"


@reads(r"because \S+( \(t\d+\))? itself has neither a grad_fn nor the flag: only its base requires grad", "edges")
@reads(r"because \S+( \(t\d+\))? itself has neither a grad_fn nor the flag: only its base requires grad", "one edge")
def only_the_base(step: Step, found: re.Match[str]) -> Problems:
    requires_grad, views = step.so_far.requires_grad, step.so_far.views
    inputs = [tensor for edge, (_, tensor) in zip(step.event.edges, step.event.inputs, strict=False) if edge is None]
    if not any(not requires_grad[each] and requires_grad[views[each]] for each in inputs if each in views):
        yield f"no base of {inputs} requires grad"


@reads(r"only the formula of its (\w+) edge uses it and that edge is empty", "tensor not saved")
def edge_is_empty(step: Step, found: re.Match[str]) -> Problems:
    collected = step.so_far.edges.get(step.event.node)
    if found[1] != ordinal(step.event.edge + 1):
        yield f"it is edge {step.event.edge}"
    if collected is not None and collected.edges[step.event.edge] is not None:
        yield "that edge leads to a Node"


@reads(r"is first seen here", "known tensor")
def first_seen(step: Step, found: re.Match[str]) -> Problems:
    steps = (each for each in step.trace.steps_of(ev.KeySetComputed) if each < step.seq)
    if any(tensor == step.event.tensor for each in steps for _, tensor, _ in step.trace[each].arguments):
        yield "a call had it before"


@reads(r"(\w+) was among them all along", "requires_grad on")
def all_along(step: Step, found: re.Match[str]) -> Problems:
    made = step.so_far.first_keys.get(step.event.tensor)
    if made is not None and not made & raw(DispatchKey[found[1]]) & autograd_dispatch_keyset:
        yield f"it was made with {made:#x}"


@reads(r"nothing refers to it any more", "Node freed")
def not_run_again(step: Step, found: re.Match[str]) -> Problems:
    later = (each for each in step.trace.steps_of(ev.NodeStarted) if each > step.seq)
    if any(step.trace[each].node == step.event.node for each in later):
        yield "it runs later"


@reads(r"^(\S+) (?:now refers|no longer refers) to t(\d+)", "name bound", "name unbound")
def refers_to(step: Step, found: re.Match[str]) -> Problems:
    """A variable may have a name that is a word of ours."""
    if (found[1], int(found[2])) != (step.event.name, step.event.tensor):
        yield f"it is {step.event.name} and t{step.event.tensor}"


@reads(
    r"keeps the [\w -]*hook (.+?)\. (?:The hook|After|Before) |^The [\w -]*hook (.+) of \S+(?: \([^()]*\))? runs",
    *("hook registered", "hook replaces nothing", "hook replaces gradients", "hook after accumulation"),
)
def the_hook(step: Step, found: re.Match[str]) -> Problems:
    """The hook's function may have a name that is a word of ours."""
    if (found[1] or found[2]) != step.event.function:
        yield f"it is {step.event.function}"


# -- printing ---------------------------------------------------------------------------------------------------------


@reads(
    r"(\w+ calls?), none of which is recorded for backward|(\w+ calls?) in all", "tensor printed", "tensor formatted"
)
def calls_of_printing(step: Step, found: re.Match[str]) -> Problems:
    inside = range(step.seq, step.trace.ends[step.seq] + 1)
    calls = [each for each in step.trace.steps_of(ev.Dispatched) if each in inside]
    called = sum(step.trace[each].how.startswith("call") for each in calls)
    if (found[1] or found[2]) != counted(called, "call"):
        yield f"it makes {called} calls"
    made = (each for each in step.trace.steps_of(ev.NodeCreated) if each in inside)
    if found[1] and any(around(step.trace, each, ev.KernelEntered) for each in made):
        yield "a kernel in it makes a Node"


# -- transforms -------------------------------------------------------------------------------------------------------


@reads(r"calls are ordinary calls again|as it would without a transform", "transform ends")
@reads(r"calls are ordinary calls again|as it would without a transform", "transform popped")
def no_transform_left(step: Step, found: re.Match[str]) -> Problems:
    if step.so_far.layers:
        yield f"{step.so_far.layers} are on the stack"


@reads(r"The transforms below it stay|to the transform of level (\d+)", "transform ends", "transform popped")
def transform_below(step: Step, found: re.Match[str]) -> Problems:
    top = step.so_far.layers[-1][0] if step.so_far.layers else 0
    if not top or (found[1] and int(found[1]) != top):
        yield f"{step.so_far.layers} are on the stack"


# -- names ------------------------------------------------------------------------------------------------------------


@beside
def a_variable_keeps_its_small_letter(step: Step) -> Problems:
    variables = step.so_far.variables
    for name in re.findall(r"\b[A-Z]\w*(?= \(t\d+\))", step.text):
        if name not in variables and name[0].lower() + name[1:] in variables:
            yield f"the variable is {name[0].lower() + name[1:]}"


# -- the engine's pane ------------------------------------------------------------------------------------------------


@beside
def the_engine_pane_has_the_queue_of_the_sentence(step: Step) -> Problems:
    if not isinstance(step.event, ev.NodeQueued | ev.NodeStarted):
        return
    state = engine_state(step.trace, step.seq)
    if state is None:
        yield "the pane shows no backward pass"
        return
    shown = {ready.queued.node for ready in state.ready}
    waiting = {each.node for each in step.so_far.ready(step.seq, queue_device(step.event.device))}
    if not state.more_ready and not waiting <= shown:
        yield f"the pane has {sorted(shown)} in the queue, {sorted(waiting)} wait"
    if isinstance(step.event, ev.NodeStarted) and (state.running is None or state.running.node != step.event.node):
        yield "the pane has another Node running"
