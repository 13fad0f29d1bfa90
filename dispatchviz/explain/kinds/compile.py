"""``torch.compile``: the steps of the compiler, and the calls of compiled regions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.compiled.compiled_names import break_reason, function_title, graph_title, region_title
from dispatchviz.explain.graph.compiled.graphs import calls_of, graph_of, nodes_of
from dispatchviz.explain.kinds.kind import WIDTH, E, Kind, Known, Pane, Rule
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import node_name
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.foundation.english import capital, listed, numbered, shortened

_REASON = 400
"""The number of characters of a reason of PyTorch that are shown."""


def _compiled_function(trace: Trace, event: ev.Event) -> str:
    outer = around(trace, event.seq, ev.CompileStarted)
    return "the function" if outer is None else function_title(outer.function)


def _started_label(trace: Trace, event: ev.CompileStarted) -> str:
    again = " again" if event.again else ""
    number = f"  ({event.compile_id})" if event.compile_id else ""
    return f"compile {function_title(event.function)}{again}{number}"


def _started(trace: Trace, event: ev.CompileStarted) -> Statement:
    name = function_title(event.function)
    if not event.function:
        text = "The backward graph runs for the first time, so the backend compiles it."
        return Statement("backward graph compiled", text)
    if event.again:
        return Statement(
            "compiled again", f"No compiled code of {name} fits this call, so torch.compile traces it again."
        )
    return Statement(
        "compiled for the first time", f"There is no compiled code of {name} yet, so torch.compile traces it."
    )


def _guard_failed(trace: Trace, event: ev.GuardFailed) -> Statement:
    return Statement("guard failed", f"PyTorch reports the guard that failed: {_one_line(event.reason)}")


def _broken(trace: Trace, event: ev.GraphBroken) -> Statement:
    place = f"line {event.line}" if event.line else "what follows"
    reason = shortened(break_reason(event.reason), _REASON)
    text = f"Dynamo cannot trace {place}, so the graph ends before it. PyTorch's reason: {reason}"
    return Statement("graph break", text)


def _one_line(text: str) -> str:
    """PyTorch's text as the end of a sentence."""
    return shortened(" ".join(text.split()).removesuffix("."), _REASON) + "."


def _captured_label(trace: Trace, event: ev.GraphCaptured) -> str:
    return f"{graph_title(event)}  ({numbered(len(calls_of(event)), 'line')})"


def _captured(trace: Trace, event: ev.GraphCaptured) -> Statement:
    """The graph, in the words of its stage."""
    count, region = numbered(len(calls_of(event)), "line"), region_title(event.region)
    match event.stage:
        case "Dynamo":
            of = _compiled_function(trace, event)
            return Statement("graph of Dynamo", f"Dynamo has traced {of} into a graph of {count}, {region}.")
        case _ if event.cached:
            name = graph_title(event)
            return Statement("graph from the cache", f"AOTAutograd has found the {name} in its cache: {count}.")
        case "joint":
            parts = Counter(line.part for line in calls_of(event))
            split = f"{parts['forward']} of the forward and {parts['backward']} of the backward"
            return Statement(
                "joint graph", f"AOTAutograd has traced {region} and its backward into one graph: {split}."
            )
        case "forward":
            saved = f" It saves {listed(event.saved)} for the backward graph." if event.saved else ""
            return Statement("forward graph", f"The forward graph of {region} has {count}.{saved}")
        case "backward":
            nodes = nodes_of(event)
            of = f" They do the work of {listed(nodes)}." if nodes else ""
            return Statement("backward graph captured", f"The backward graph of {region} has {count}.{of}")
        case "inference":
            text = f"{capital(region)} has no backward, so AOTAutograd traces it into one graph of {count}."
            return Statement("inference graph", text)
        case "compiled autograd":
            return Statement("captured backward", f"Compiled autograd has captured the backward as a graph of {count}.")


_STAGES = {
    "Dynamo": Rule(
        "Dynamo follows the bytecode of a function with fake tensors, which have no memory. It records the calls.",
        "OutputGraph.call_user_compiler",
        "torch/_dynamo/output_graph.py",
    ),
    "joint": Rule(
        "AOTAutograd traces a region and its backward through the dispatcher. Functionalization replaces add_ by add.",
        "aot_dispatch_autograd_graph",
        "torch/_functorch/_aot_autograd/graph_capture.py",
    ),
    "forward": Rule(
        "The partition decides what the forward saves and what the backward computes again.",
        "_partition_joint_graph_into_fw_bw",
        "torch/_functorch/_aot_autograd/graph_compile.py",
    ),
    "inference": Rule(
        "AOTAutograd traces a region through the dispatcher. Functionalization replaces add_ by add.",
        "aot_stage2_inference",
        "torch/_functorch/_aot_autograd/graph_compile.py",
    ),
    "compiled autograd": Rule(
        "Compiled autograd runs the Nodes with proxies instead of tensors, and records the calls.",
        "AutogradCompilerInstance.end_capture",
        "torch/_dynamo/compiled_autograd.py",
    ),
}


def _captured_rule(event: ev.GraphCaptured) -> Rule:
    return _STAGES["forward" if event.stage == "backward" else event.stage]


def _finished(trace: Trace, event: ev.CompileFinished) -> Statement:
    name = _compiled_function(trace, event)
    match event.outcome:
        case "compiled" if name == function_title(""):
            text = "The backend has compiled the backward graph."
        case "compiled":
            text = f"Dynamo has compiled {name}. Its guards decide which later calls use this code."
        case "not compiled":
            text = f"Dynamo has found nothing to compile in {name}, so Python runs it as it is."
        case "failed":
            text = f"The compilation of {name} has ended with an exception. {_one_line(event.message)}"
    return Statement("compile ends", capital(text))


def _called(trace: Trace, event: ev.RegionCalled) -> Statement:
    text = f"The compiled code calls {region_title(event.region)}"
    graph = graph_of(trace, event.seq, event.region, "forward", "inference", "Dynamo")
    if graph is not None:
        name = "Dynamo's graph" if graph.stage == "Dynamo" else f"its {graph.stage} graph"
        text += f", which runs {name} of {numbered(len(calls_of(graph)), 'line')}"
    return Statement("region called", f"{text}.")


def _node_made(trace: Trace, event: ev.RegionNodeMade) -> Statement:
    name, region = node_name(trace, event.node), region_title(event.region)
    graph = graph_of(trace, event.seq, event.region, "backward")
    nodes = () if graph is None else nodes_of(graph)
    of = f" It takes the place of {listed(nodes)}." if nodes else ""
    return Statement("Node of a region", f"{name} runs the backward graph of {region}.{of}")


def _node_made_label(trace: Trace, event: ev.RegionNodeMade) -> str:
    return f"{node_name(trace, event.node)} runs the backward graph of {region_title(event.region)}"


COMPILED: tuple[Pane, ...] = ("compiler", "source")
"""The panes that show most about a compiled region."""


def _kind(
    event: type[E],
    label: Callable[[Trace, E], str],
    why: Callable[[Trace, E], Statement],
    rule: Rule | Callable[[E], Rule],
    known: Known,
    panes: tuple[Pane, ...] = COMPILED,
) -> Kind[E]:
    """Return the record of a step of the compiler."""
    return Kind(event, group="program", label=label, why=why, rule=rule, known=known, level="lines", panes=panes)


COMPILE_KINDS = (
    _kind(
        ev.CompileStarted,
        label=_started_label,
        why=_started,
        rule=Rule(
            "torch.compile traces a function when it is called and no compiled code of it fits.",
            "_compile",
            "torch/_dynamo/convert_frame.py",
        ),
        known=Known("observed", "the compiler's _compile is called"),
    )
    | _kind(
        ev.GuardFailed,
        label=lambda trace, event: shortened(f"guard failed: {' '.join(event.reason.split())}", WIDTH),
        why=_guard_failed,
        rule=Rule(
            "Compiled code is used only if its guards hold. They check what the trace relies on, such as sizes.",
            "get_and_maybe_log_recompilation_reasons",
            "torch/_dynamo/guards.py",
        ),
        known=Known("observed", "PyTorch's own report"),
        panes=("source", "compiler"),
    )
    | _kind(
        ev.GraphBroken,
        label=lambda trace, event: shortened(f"graph break: {break_reason(event.reason)}", WIDTH),
        why=_broken,
        rule=Rule(
            "At a graph break, the graph so far is compiled. Python runs the next call, and Dynamo tries the rest.",
            "OutputGraph.compile_subgraph",
            "torch/_dynamo/output_graph.py",
        ),
        known=Known("observed", "OutputGraph.compile_subgraph is called"),
        panes=("source", "compiler"),
    )
    | _kind(
        ev.GraphCaptured,
        label=_captured_label,
        why=_captured,
        rule=_captured_rule,
        known=Known(
            "observed",
            "the graph is read when the compiler has made it",
            {"lines": ("derived", "from the graph's metadata and the cache of the Python dispatcher")},
        ),
    )
    | _kind(
        ev.CompileFinished,
        label=lambda trace, event: shortened(f"compile ends: {event.message or event.outcome}", WIDTH),
        why=_finished,
        rule=Rule(
            "Python keeps the compiled code with the function, together with its guards.",
            "_compile",
            "torch/_dynamo/convert_frame.py",
        ),
        known=Known("observed", "the compiler's _compile returns"),
    )
    | _kind(
        ev.RegionCalled,
        label=lambda trace, event: f"call of {region_title(event.region)}",
        why=_called,
        rule=Rule(
            "The compiled code of a function calls its regions, and runs the rest as Python does.",
            "OutputGraph.install_global_unsafe",
            "torch/_dynamo/output_graph.py",
        ),
        known=Known("observed", "a function of ours is in front of the region"),
    )
    | Kind(
        ev.RegionNodeMade,
        group="forward",
        label=_node_made_label,
        why=_node_made,
        rule=Rule(
            "A compiled region is one custom Function to autograd: its backward runs the backward graph.",
            "AOTDispatchAutograd.post_compile",
            "torch/_functorch/_aot_autograd/runtime_wrappers.py",
        ),
        known=Known("observed", "the grad_fn of the region's results is read"),
        panes=COMPILED,
    )
)
