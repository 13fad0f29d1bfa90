"""The short text of a step in the event list, and the sign in front of it; the long form is ``step_sentences.py``."""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.call_text import call_text
from dispatchviz.explain.graph.graph_history import Backward, backward_around
from dispatchviz.explain.keys.key_text import key_names
from dispatchviz.explain.sentences import event_groups
from dispatchviz.explain.sentences.engine_claims import edge_text
from dispatchviz.explain.sentences.english import counted, hexed, plain_dtype, shaped, shortened
from dispatchviz.explain.sentences.event_groups import sign
from dispatchviz.explain.sentences.formatting_sentences import calls_within
from dispatchviz.explain.sentences.node_sentences import NO_NUMBER
from dispatchviz.explain.sentences.requested_gradients import requested_inputs
from dispatchviz.explain.sentences.stream_sentences import stream_name
from dispatchviz.explain.trace_index.display_names import node_name, node_title, plain_node, tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import source_text
from dispatchviz.explain.trace_index.trace_index import index

__all__ = ["label", "sign"]

WIDTH = 60
"""Free text (source lines, messages, values) is cut at this length."""


def label(trace: Trace, seq: int) -> str:
    """The short text of step ``seq``."""
    event = trace[seq]
    if isinstance(event, event_groups.ProgramEvent):
        return _program(trace, event)
    if isinstance(event, ev.BindingEntered):
        return shortened(call_text(trace, event), WIDTH)
    if isinstance(event, event_groups.DispatchEvent):
        return _dispatch(trace, event)
    if isinstance(event, event_groups.ThreadEvent):
        return _thread(trace, event)
    if isinstance(event, event_groups.StructuredEvent | event_groups.TensorEvent):
        return _tensor(trace, event)
    if isinstance(event, event_groups.ForwardEvent):
        return _forward(trace, event)
    if isinstance(event, event_groups.EngineEvent):
        return _engine(trace, event)
    if isinstance(event, event_groups.RegistrationEvent):
        return _registration(event)
    if isinstance(event, ev.ErrorRaised):
        return shortened(f"{event.exception}: {event.message}" if event.message else event.exception, WIDTH)
    if isinstance(event, ev.Unknown):
        return f"{event.kind} (from another version)"
    assert_never(event)


def _program(trace: Trace, event: event_groups.ProgramEvent) -> str:
    match event:
        case ev.SourceLine():
            text = source_text(trace, event)
            own = text and event.file == trace.header.program.partition("::")[0]  # of a test: "file::name"
            location = f"line {event.line}" if own else f"{event.file}, line {event.line}"
            function = f" in {event.function}" if event.function else ""
            return shortened(f"{location}{function}{text and '  '}{text}", WIDTH)
        case ev.NameBound():
            return f"{event.name} = t{event.tensor}"
        case ev.Printed():
            return shortened(f"printed {event.text}", WIDTH)
        case ev.TensorFormatted():
            calls = counted(calls_within(trace, event.seq), "call")
            return f"{event.function} of {tensor_name(trace, event.tensor, event.seq)} ({calls})"
        case ev.ProgramRaised():
            if event.exception == "KeyboardInterrupt":
                return "interrupted"
            return shortened(f"{event.exception}: {event.message}" if event.message else event.exception, WIDTH)
        case _:
            assert_never(event)


def _dispatch(trace: Trace, event: event_groups.DispatchEvent) -> str:
    match event:
        case ev.Dispatched():
            return f"{event.how} {event.operator} → {event.key}"
        case ev.KeySetComputed():
            return f"key set {hexed(event.effective)}"
        case ev.FallthroughSkipped():
            return shortened(f"skipped {', '.join(name for name, _, _ in event.keys)}", WIDTH)
        case ev.KernelSelected():
            return f"cell {event.cell} {event.key}: {event.kernel or 'empty'}"
        case ev.KernelEntered():
            return f"kernel {event.kernel}"
        case ev.KernelReturned():
            names = ", ".join(tensor_name(trace, tensor, event.seq) for tensor in event.tensors)
            return shortened(f"returns {names}" if names else "returns", WIDTH)
        case ev.Boxed():
            return f"boxed {event.values} of {event.operator}"
        case ev.Unboxed():
            return f"unboxed {event.values} of {event.operator}"
        case ev.TorchDispatchEntered():
            return shortened(f"{event.kind} {event.handler} gets {event.function}", WIDTH)
        case ev.TorchDispatchLeft():
            return f"{event.handler} {'returns NotImplemented' if event.not_implemented else 'is done'}"
        case _:
            assert_never(event)


def _thread(trace: Trace, event: event_groups.ThreadEvent) -> str:
    match event:
        case ev.GuardEntered():
            return f"guard {event.guard}"
        case ev.GuardLeft():
            return f"guard {event.guard} ends"
        case ev.GradModeChanged():
            return f"grad mode {'on' if event.enabled else 'off'} ({event.why})"
        case ev.InferenceModeChanged():
            return f"inference mode {'on' if event.enabled else 'off'}"
        case ev.StreamChanged():
            return f"on {stream_name(event.stream)} ({event.why})"
        case ev.StreamEventRecorded():
            return f"event {event.event} recorded on {stream_name(event.stream)}"
        case ev.StreamWaited():
            return f"{stream_name(event.stream)} waits for event {event.event} of {stream_name(event.recorded_on)}"
        case ev.MemoryUsedOnStream():
            return f"memory of {tensor_name(trace, event.tensor, event.seq)} used on {stream_name(event.stream)}"
        case ev.DynamicLayerPushed():
            return f"{event.transform.lower()} level {event.level} {event.why}"
        case ev.DynamicLayerPopped():
            return f"{event.transform.lower()} level {event.level} {event.why}"
        case ev.AutocastChanged():
            return f"autocast for {event.device} {'on' if event.enabled else 'off'} ({plain_dtype(event.dtype)})"
        case ev.AutocastCast():
            result = tensor_name(trace, event.result, event.seq)
            return f"{tensor_name(trace, event.tensor, event.seq)} → {result} {plain_dtype(event.after)} ({event.how})"
        case ev.AutocastCacheCleared():
            return f"autocast's cache cleared ({event.casts})"
        case _:
            assert_never(event)


def _output(trace: Trace, event: ev.OutputAllocated) -> str:
    """``t2 [2, 2] float32 (functional)``, ``o [3] int64 (out, resized)``, ``o [3] int64 (out, proxy t7)``"""
    proxy = "" if event.proxy is None else f", proxy {tensor_name(trace, event.proxy, event.seq)}"
    variant = f"{event.variant}{', resized' if event.resized else ''}{proxy}"
    sizes = f" {shaped(event.shape)} {plain_dtype(event.dtype)}" if event.dtype else ""
    return f"{tensor_name(trace, event.tensor, event.seq)}{sizes} ({variant})"


def _tensor(trace: Trace, event: event_groups.StructuredEvent | event_groups.TensorEvent) -> str:
    match event:
        case ev.MetaEntered():
            return event.function
        case ev.OutputAllocated():
            return f"{event.method}: {_output(trace, event)}"
        case ev.ProxyCopied():
            names = (tensor_name(trace, tensor, event.seq) for tensor in (event.proxy, event.output))
            return f"proxy {' → '.join(names)}"
        case ev.ImplEntered():
            written = ", ".join(tensor_name(trace, tensor, event.seq) for tensor in event.tensors)
            return shortened(f"{event.function} → {written}", WIDTH)
        case ev.TensorCreated():
            shape = f"{shaped(event.shape)} {plain_dtype(event.dtype)} {event.device}"
            return f"tensor t{event.tensor}  {shape}{'' if event.how == 'new' else f' ({event.how})'}"
        case ev.ViewMade():
            name = tensor_name(trace, event.tensor, event.seq)
            return f"{name} is a view of {tensor_name(trace, event.base, event.seq)}"
        case ev.VersionBumped():
            return f"version of {tensor_name(trace, event.tensor, event.seq)}: {event.before} → {event.after}"
        case ev.GeometryChanged():
            name = tensor_name(trace, event.tensor, event.seq)
            return f"{name} is {shaped(event.shape)} now, strides {shaped(event.stride)}"
        case ev.RequiresGradSet(detached=True):
            return f"{tensor_name(trace, event.tensor, event.seq)} is detached in place"
        case ev.RequiresGradSet():
            return f"{tensor_name(trace, event.tensor, event.seq)}.requires_grad = {event.requires_grad}"
        case ev.TensorWrapperMade():
            name, value = (tensor_name(trace, t, event.seq) for t in (event.tensor, event.value))
            return f"{name} wraps {value} (level {event.level})"
        case ev.BatchedTensorMade():
            name, value = (tensor_name(trace, t, event.seq) for t in (event.tensor, event.value))
            return f"{name} is {value} without dimension {event.bdim} (level {event.level})"
        case ev.KeySetChanged():
            return f"keys of {tensor_name(trace, event.tensor, event.seq)}: {_change(event)}"
        case _:
            assert_never(event)


def _change(event: ev.KeySetChanged) -> str:
    before, after = set(key_names(event.before)), set(key_names(event.after))
    return " ".join([f"+{name}" for name in sorted(after - before)] + [f"-{name}" for name in sorted(before - after)])


def _forward(trace: Trace, event: event_groups.ForwardEvent) -> str:
    match event:
        case ev.NodeCreated():
            known = " (known before)" if event.known else ""
            if event.sequence_nr == NO_NUMBER:
                return f"Node {node_name(trace, event.node, event.seq)}{known}"
            return f"Node {plain_node(event.name)}, seq {event.sequence_nr}{known}"
        case ev.EdgesCollected():
            return _edges(trace, event)
        case ev.AttributeSaved():
            return shortened(f"saves {event.name} = {event.value}", WIDTH)
        case ev.VariableSaved():
            tensor = "undefined" if event.tensor is None else tensor_name(trace, event.tensor, event.seq)
            return f"saves {event.name} = {tensor}{' (packed)' if event.packed else ''}"
        case ev.VariableNotSaved():
            return f"does not save {event.name}"
        case ev.SavedTensorHookRan():
            return f"{event.kind} {event.function}: {tensor_name(trace, event.tensor, event.seq)}"
        case ev.AccumulatorMade():
            return f"{node_name(trace, event.node, event.seq)} belongs to {tensor_name(trace, event.tensor, event.seq)}"
        case ev.HistorySet() | ev.HistoryRebased():
            name, node = tensor_name(trace, event.tensor, event.seq), node_title(trace, event.node, event.seq)
            return f"{name}.grad_fn = {node}{_rebased(trace, event)}"
        case ev.FunctionEntered():
            return f"{event.function}.apply{'' if event.recorded else ', not recorded'}"
        case ev.FunctionOutput():
            result = tensor_name(trace, event.result, event.seq)
            return f"output {event.position} is {result}{'' if event.how == 'plain' else f' ({event.how})'}"
        case ev.NoNodeMade():
            return f"no Node: {event.why}"
        case ev.DualLevelEntered():
            return f"dual level {event.level} opened"
        case ev.DualLevelLeft():
            return f"dual level {event.level} closed, {counted(event.tangents, 'tangent')} removed"
        case ev.ForwardFormulaEntered():
            return shortened(f"tangent = {event.formula}", WIDTH)
        case ev.TangentSet():
            name, tangent = (tensor_name(trace, t, event.seq) for t in (event.tensor, event.tangent))
            return f"tangent of {name} = {tangent} ({event.how})"
        case _:
            assert_never(event)


def _rebased(trace: Trace, event: ev.HistorySet | ev.HistoryRebased) -> str:
    if isinstance(event, ev.HistorySet):
        return ""
    return " (regenerated)" if event.tensor in index(trace).views else " (rebased)"


def _edges(trace: Trace, event: ev.EdgesCollected) -> str:
    targets = [f"→ {node_title(trace, edge[0], event.seq)}" if edge else "empty" for edge in event.edges]
    names = [f"{name} " for name, _ in event.inputs] if len(event.inputs) == len(targets) else [""] * len(targets)
    edges = ", ".join(name + target for name, target in zip(names, targets, strict=True))
    return shortened(f"edges {edges or 'none'}", WIDTH + 20)


def _engine(trace: Trace, event: event_groups.EngineEvent) -> str:
    match event:
        case ev.BackwardStarted():
            roots = ", ".join(node_title(trace, node, event.seq) for node, _ in event.roots)
            requested = ", ".join(requested_inputs(trace, event))
            aim = f" for {requested}" if requested else ""
            return shortened(f"{'backward' if event.accumulate else 'grad'} from {roots}{aim}", WIDTH)
        case ev.DependenciesCounted():
            edges = sum(number for _, number in event.counts)
            return f"{edges} edge{'' if edges == 1 else 's'} counted"
        case ev.ExecInfoPopulated():
            needed, pruned = len(event.needed), len(event.pruned)
            return f"exec_info: {needed} Node{'' if needed == 1 else 's'} needed, {pruned} pruned"
        case ev.BackwardFinished():
            return "backward done"
        case ev.GradientReduced():
            return f"{_t(trace, event.before, event)} summed to {shaped(event.shape)}"
        case ev.GradientAccumulated():
            return f"{tensor_name(trace, event.tensor, event.seq)}.grad ({event.how})"
        case _:
            return _engine_node(trace, event, node_title(trace, event.node, event.seq))


def _engine_node(
    trace: Trace,
    event: ev.DependencyMet
    | ev.NodeQueued
    | ev.NodeSkipped
    | ev.NodeStarted
    | ev.FormulaSkipped
    | ev.NodeFinished
    | ev.HookRan
    | ev.AnomalyFound
    | ev.GradientBuffered
    | ev.GradientCaptured
    | ev.VariablesReleased,
    node: str,
) -> str:
    match event:
        case ev.DependencyMet(skipped=True):
            return f"{node} is not needed"
        case ev.DependencyMet():
            return f"{node} waits for {event.left} more" if event.left else f"{node} has all its gradients"
        case ev.NodeQueued():
            return f"{node} is {_queued(backward_around(trace, event.seq), event.node)}"
        case ev.NodeSkipped():
            return f"{node} does not run"
        case ev.NodeStarted():
            return f"run {node}{'' if event.sequence_nr == NO_NUMBER else f', seq {event.sequence_nr}'}"
        case ev.FormulaSkipped():
            return f"no gradient for {edge_text(trace, event.node, event.edge, event.seq)}: not needed"
        case ev.NodeFinished():
            return shortened(f"{node} done", WIDTH)
        case ev.HookRan():
            return f"{event.kind} {event.function}"
        case ev.AnomalyFound():
            return f"anomaly in {node}"
        case ev.GradientBuffered():
            return f"{_t(trace, event.tensor, event)} for {node} ({event.how})"
        case ev.GradientCaptured():
            return f"result {event.position} taken at {node}"
        case ev.VariablesReleased():
            return f"{node} releases its saved variables"
        case _:
            assert_never(event)


def _queued(backward: Backward | None, node: int) -> str:
    if backward is None or backward.needs(node):
        return "ready"
    return "queued to be captured" if backward.captures(node) else "queued, but not needed"


def _t(trace: Trace, tensor: int, event: ev.Event) -> str:
    return tensor_name(trace, tensor, event.seq)


def _registration(event: event_groups.RegistrationEvent) -> str:
    match event:
        case ev.OperatorDefined():
            return f"def {event.operator}"
        case ev.KernelRegistered():
            verb = "removed" if event.removed else "impl" if event.operator else "fallback"
            return f"{verb} {event.operator or 'all operators'} {event.key}: {event.kernel}"
        case ev.CellsRecomputed():
            cells = "1 cell" if len(event.cells) == 1 else f"{len(event.cells)} cells"
            return f"{cells} of {event.operator} changed"
        case _:
            assert_never(event)
