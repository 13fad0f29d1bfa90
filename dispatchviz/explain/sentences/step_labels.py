"""The short text of a step in the event list, and the sign in front of it; the long form is ``step_sentences.py``.

A function per kind of event, found by its type: a log asks for a million labels. A kind without one fails a test
(``tests/explain/test_every_kind.py``); that a function is given the kind that it is for, the type check sees.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.call_text import call_text
from dispatchviz.explain.graph.backwards import Backward
from dispatchviz.explain.graph.graph_history import backward_around
from dispatchviz.explain.keys.key_text import key_names
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

__all__ = ["LABELS", "label", "sign"]

WIDTH = 60
"""Free text (source lines, messages, values) is cut at this length."""

E = TypeVar("E", bound=ev.AnyEvent)
Label = Callable[[Trace, E], str]

LABELS: dict[type[ev.Event], Callable[[Trace, Any], str]] = {}
"""Kind of event to the function that makes its label."""


def label(trace: Trace, seq: int) -> str:
    """The short text of step ``seq``."""
    event = trace[seq]
    return LABELS[type(event)](trace, event)


def _of(kind: type[E]) -> Callable[[Label[E]], Label[E]]:
    """Decorates the function for a kind."""

    def known(function: Label[E]) -> Label[E]:
        LABELS[kind] = function
        return function

    return known


# -- the program ------------------------------------------------------------------------------------------------------


@_of(ev.SourceLine)
def _source_line(trace: Trace, event: ev.SourceLine) -> str:
    text = source_text(trace, event)
    own = text and event.file == trace.header.program.partition("::")[0]  # of a test: "file::name"
    location = f"line {event.line}" if own else f"{event.file}, line {event.line}"
    function = f" in {event.function}" if event.function else ""
    return shortened(f"{location}{function}{text and '  '}{text}", WIDTH)


@_of(ev.NameBound)
def _name_bound(trace: Trace, event: ev.NameBound) -> str:
    return f"{event.name} = t{event.tensor}"


@_of(ev.NameUnbound)
def _name_unbound(trace: Trace, event: ev.NameUnbound) -> str:
    return f"{event.name} no longer names t{event.tensor}"


@_of(ev.Printed)
def _printed(trace: Trace, event: ev.Printed) -> str:
    return shortened(f"printed {event.text}", WIDTH)


@_of(ev.TensorFormatted)
def _formatted(trace: Trace, event: ev.TensorFormatted) -> str:
    calls = counted(calls_within(trace, event.seq), "call")
    return f"{event.function} of {tensor_name(trace, event.tensor, event.seq)} ({calls})"


@_of(ev.Warned)
def _warned(trace: Trace, event: ev.Warned) -> str:
    return _error(event.category or "warning on stderr", event.message)


@_of(ev.ProgramRaised)
def _program_raised(trace: Trace, event: ev.ProgramRaised) -> str:
    return "interrupted" if event.exception == "KeyboardInterrupt" else _error(event.exception, event.message)


@_of(ev.ErrorRaised)
def _error_raised(trace: Trace, event: ev.ErrorRaised) -> str:
    return _error(event.exception, event.message)


def _error(exception: str, message: str) -> str:
    return shortened(f"{exception}: {message}" if message else exception, WIDTH)


@_of(ev.Unknown)
def _unknown(trace: Trace, event: ev.Unknown) -> str:
    return f"{event.kind} (from another version)"


@_of(ev.BindingEntered)
def _binding(trace: Trace, event: ev.BindingEntered) -> str:
    return shortened(call_text(trace, event), WIDTH)


# -- dispatch ---------------------------------------------------------------------------------------------------------


@_of(ev.Dispatched)
def _dispatched(trace: Trace, event: ev.Dispatched) -> str:
    return f"{event.how} {event.operator} → {event.key}"


@_of(ev.KeySetComputed)
def _key_set(trace: Trace, event: ev.KeySetComputed) -> str:
    return f"key set {hexed(event.effective)}"


@_of(ev.FallthroughSkipped)
def _skipped(trace: Trace, event: ev.FallthroughSkipped) -> str:
    return shortened(f"skipped {', '.join(name for name, _, _ in event.keys)}", WIDTH)


@_of(ev.KernelSelected)
def _selected(trace: Trace, event: ev.KernelSelected) -> str:
    return f"cell {event.cell} {event.key}: {event.kernel or 'empty'}"


@_of(ev.KernelEntered)
def _kernel(trace: Trace, event: ev.KernelEntered) -> str:
    return f"kernel {event.kernel}"


@_of(ev.KernelReturned)
def _returned(trace: Trace, event: ev.KernelReturned) -> str:
    names = ", ".join([tensor_name(trace, tensor, event.seq) for tensor in event.tensors])
    return shortened(f"returns {names}", WIDTH) if names else "returns"


@_of(ev.ResultHashed)
def _hashed(trace: Trace, event: ev.ResultHashed) -> str:
    return f"hash of {tensor_name(trace, event.tensor, event.seq)}: {event.hash}"


@_of(ev.Boxed)
def _boxed(trace: Trace, event: ev.Boxed) -> str:
    return f"boxed {event.values} of {event.operator}"


@_of(ev.Unboxed)
def _unboxed(trace: Trace, event: ev.Unboxed) -> str:
    return f"unboxed {event.values} of {event.operator}"


@_of(ev.TorchDispatchEntered)
def _torch_dispatch(trace: Trace, event: ev.TorchDispatchEntered) -> str:
    return shortened(f"{event.kind} {event.handler} gets {event.function}", WIDTH)


@_of(ev.TorchDispatchLeft)
def _torch_dispatch_left(trace: Trace, event: ev.TorchDispatchLeft) -> str:
    return f"{event.handler} {'returns NotImplemented' if event.not_implemented else 'is done'}"


# -- the thread -------------------------------------------------------------------------------------------------------


@_of(ev.GuardEntered)
def _guard(trace: Trace, event: ev.GuardEntered) -> str:
    return f"guard {event.guard}"


@_of(ev.GuardLeft)
def _guard_left(trace: Trace, event: ev.GuardLeft) -> str:
    return f"guard {event.guard} ends"


@_of(ev.GradModeChanged)
def _grad_mode(trace: Trace, event: ev.GradModeChanged) -> str:
    return f"grad mode {'on' if event.enabled else 'off'} ({event.why})"


@_of(ev.InferenceModeChanged)
def _inference_mode(trace: Trace, event: ev.InferenceModeChanged) -> str:
    return f"inference mode {'on' if event.enabled else 'off'}"


@_of(ev.StreamChanged)
def _stream(trace: Trace, event: ev.StreamChanged) -> str:
    return f"on {stream_name(event.stream)} ({event.why})"


@_of(ev.StreamEventRecorded)
def _stream_event(trace: Trace, event: ev.StreamEventRecorded) -> str:
    return f"event {event.event} recorded on {stream_name(event.stream)}"


@_of(ev.StreamWaited)
def _stream_waited(trace: Trace, event: ev.StreamWaited) -> str:
    return f"{stream_name(event.stream)} waits for event {event.event} of {stream_name(event.recorded_on)}"


@_of(ev.MemoryUsedOnStream)
def _stream_memory(trace: Trace, event: ev.MemoryUsedOnStream) -> str:
    return f"memory of {tensor_name(trace, event.tensor, event.seq)} used on {stream_name(event.stream)}"


def _layer(trace: Trace, event: ev.DynamicLayerPushed | ev.DynamicLayerPopped) -> str:
    return f"{event.transform.lower()} level {event.level} {event.why}"


_of(ev.DynamicLayerPushed)(_layer)
_of(ev.DynamicLayerPopped)(_layer)


@_of(ev.AutocastChanged)
def _autocast(trace: Trace, event: ev.AutocastChanged) -> str:
    return f"autocast for {event.device} {'on' if event.enabled else 'off'} ({plain_dtype(event.dtype)})"


@_of(ev.AutocastCast)
def _autocast_cast(trace: Trace, event: ev.AutocastCast) -> str:
    result = tensor_name(trace, event.result, event.seq)
    return f"{tensor_name(trace, event.tensor, event.seq)} → {result} {plain_dtype(event.after)} ({event.how})"


@_of(ev.AutocastCacheCleared)
def _autocast_cleared(trace: Trace, event: ev.AutocastCacheCleared) -> str:
    return f"autocast's cache cleared ({event.casts})"


# -- structured kernels and tensors -----------------------------------------------------------------------------------


@_of(ev.MetaEntered)
def _meta(trace: Trace, event: ev.MetaEntered) -> str:
    return event.function


@_of(ev.OutputAllocated)
def _allocated(trace: Trace, event: ev.OutputAllocated) -> str:
    return f"{event.method}: {_output(trace, event)}"


def _output(trace: Trace, event: ev.OutputAllocated) -> str:
    """``t2 [2, 2] float32 (functional)``, ``o [3] int64 (out, resized)``, ``o [3] int64 (out, proxy t7)``"""
    proxy = "" if event.proxy is None else f", proxy {tensor_name(trace, event.proxy, event.seq)}"
    variant = f"{event.variant}{', resized' if event.resized else ''}{proxy}"
    sizes = f" {shaped(event.shape)} {plain_dtype(event.dtype)}" if event.dtype else ""
    return f"{tensor_name(trace, event.tensor, event.seq)}{sizes} ({variant})"


@_of(ev.ProxyCopied)
def _proxy(trace: Trace, event: ev.ProxyCopied) -> str:
    proxy, output = _pair(trace, event.proxy, event.output, event.seq)
    return f"proxy {proxy} → {output}"


def _pair(trace: Trace, first: int, second: int, at: int) -> tuple[str, str]:
    """The names of two tensors."""
    return tensor_name(trace, first, at), tensor_name(trace, second, at)


@_of(ev.ImplEntered)
def _impl(trace: Trace, event: ev.ImplEntered) -> str:
    written = ", ".join(tensor_name(trace, tensor, event.seq) for tensor in event.tensors)
    return shortened(f"{event.function} → {written}", WIDTH)


@_of(ev.TensorCreated)
def _tensor(trace: Trace, event: ev.TensorCreated) -> str:
    shape = f"{shaped(event.shape)} {plain_dtype(event.dtype)} {event.device}"
    name = (
        f"t{event.tensor}  {event.value}".rstrip()
        if event.wrapped_number
        else tensor_name(trace, event.tensor, event.seq)
    )
    return f"tensor {name}  {shape}{'' if event.how == 'new' else f' ({event.how})'}"


@_of(ev.ViewMade)
def _view(trace: Trace, event: ev.ViewMade) -> str:
    name, base = _pair(trace, event.tensor, event.base, event.seq)
    return f"{name} is a view of {base}"


@_of(ev.VersionBumped)
def _version(trace: Trace, event: ev.VersionBumped) -> str:
    return f"version of {tensor_name(trace, event.tensor, event.seq)}: {event.before} → {event.after}"


@_of(ev.GeometryChanged)
def _geometry(trace: Trace, event: ev.GeometryChanged) -> str:
    name = tensor_name(trace, event.tensor, event.seq)
    return f"{name} is {shaped(event.shape)} now, strides {shaped(event.stride)}"


@_of(ev.RequiresGradSet)
def _requires_grad(trace: Trace, event: ev.RequiresGradSet) -> str:
    name = tensor_name(trace, event.tensor, event.seq)
    return f"{name} is detached in place" if event.detached else f"{name}.requires_grad = {event.requires_grad}"


@_of(ev.TensorWrapperMade)
def _wrapper(trace: Trace, event: ev.TensorWrapperMade) -> str:
    name, value = _pair(trace, event.tensor, event.value, event.seq)
    return f"{name} wraps {value} (level {event.level})"


@_of(ev.BatchedTensorMade)
def _batched(trace: Trace, event: ev.BatchedTensorMade) -> str:
    name, value = _pair(trace, event.tensor, event.value, event.seq)
    return f"{name} is {value} without dimension {event.bdim} (level {event.level})"


@_of(ev.KeySetChanged)
def _keys(trace: Trace, event: ev.KeySetChanged) -> str:
    return f"keys of {tensor_name(trace, event.tensor, event.seq)}: {_change(event)}"


def _change(event: ev.KeySetChanged) -> str:
    before, after = set(key_names(event.before)), set(key_names(event.after))
    return " ".join([f"+{name}" for name in sorted(after - before)] + [f"-{name}" for name in sorted(before - after)])


@_of(ev.NumbersRecorded)
def _numbers(trace: Trace, event: ev.NumbersRecorded) -> str:
    name = tensor_name(trace, event.tensor, event.seq)
    return shortened(f"{name} holds {event.numbers}" if event.numbers else f"numbers of {name} are not known", WIDTH)


# -- forward ----------------------------------------------------------------------------------------------------------


@_of(ev.NodeCreated)
def _node(trace: Trace, event: ev.NodeCreated) -> str:
    known = " (known before)" if event.known else ""
    if event.sequence_nr == NO_NUMBER:
        return f"Node {node_name(trace, event.node, event.seq)}{known}"
    return f"Node {plain_node(event.name)}, seq {event.sequence_nr}{known}"


@_of(ev.EdgesCollected)
def _edges(trace: Trace, event: ev.EdgesCollected) -> str:
    targets = [
        f"→ {node_title(trace, edge[0], event.seq)}{f' input {edge[1]}' if edge[1] else ''}" if edge else "empty"
        for edge in event.edges
    ]
    names = [f"{name} " for name, _ in event.inputs] if len(event.inputs) == len(targets) else [""] * len(targets)
    edges = ", ".join([name + target for name, target in zip(names, targets, strict=True)])
    return shortened(f"edges {edges or 'none'}", WIDTH + 20)


@_of(ev.AttributeSaved)
def _attribute(trace: Trace, event: ev.AttributeSaved) -> str:
    return shortened(f"saves {event.name} = {event.value}", WIDTH)


@_of(ev.VariableSaved)
def _variable(trace: Trace, event: ev.VariableSaved) -> str:
    tensor = "undefined" if event.tensor is None else tensor_name(trace, event.tensor, event.seq)
    return f"saves {event.name} = {tensor}{' (packed)' if event.packed else ''}"


@_of(ev.VariableNotSaved)
def _not_saved(trace: Trace, event: ev.VariableNotSaved) -> str:
    return f"does not save {event.name}"


@_of(ev.SavedTensorHookRan)
def _saved_hook(trace: Trace, event: ev.SavedTensorHookRan) -> str:
    return f"{event.kind} {event.function}: {tensor_name(trace, event.tensor, event.seq)}"


@_of(ev.AccumulatorMade)
def _accumulator(trace: Trace, event: ev.AccumulatorMade) -> str:
    return f"{node_name(trace, event.node, event.seq)} belongs to {tensor_name(trace, event.tensor, event.seq)}"


@_of(ev.HistorySet)
def _history(trace: Trace, event: ev.HistorySet) -> str:
    return f"{tensor_name(trace, event.tensor, event.seq)}.grad_fn = {node_title(trace, event.node, event.seq)}"


@_of(ev.HistoryRebased)
def _rebased(trace: Trace, event: ev.HistoryRebased) -> str:
    name, node = tensor_name(trace, event.tensor, event.seq), node_title(trace, event.node, event.seq)
    return f"{name}.grad_fn = {node} ({'regenerated' if event.tensor in index(trace).views else 'rebased'})"


@_of(ev.FunctionEntered)
def _function(trace: Trace, event: ev.FunctionEntered) -> str:
    return f"{event.function}.apply{'' if event.recorded else ', not recorded'}"


@_of(ev.FunctionOutput)
def _function_output(trace: Trace, event: ev.FunctionOutput) -> str:
    result = tensor_name(trace, event.result, event.seq)
    return f"output {event.position} is {result}{'' if event.how == 'plain' else f' ({event.how})'}"


@_of(ev.NoNodeMade)
def _no_node(trace: Trace, event: ev.NoNodeMade) -> str:
    return f"no Node: {event.why}"


@_of(ev.DualLevelEntered)
def _dual_level(trace: Trace, event: ev.DualLevelEntered) -> str:
    return f"dual level {event.level} opened"


@_of(ev.DualLevelLeft)
def _dual_level_left(trace: Trace, event: ev.DualLevelLeft) -> str:
    return f"dual level {event.level} closed, {counted(event.tangents, 'tangent')} removed"


@_of(ev.ForwardFormulaEntered)
def _forward_formula(trace: Trace, event: ev.ForwardFormulaEntered) -> str:
    return shortened(f"tangent = {event.formula}", WIDTH)


@_of(ev.TangentSet)
def _tangent(trace: Trace, event: ev.TangentSet) -> str:
    name, tangent = _pair(trace, event.tensor, event.tangent, event.seq)
    return f"tangent of {name} = {tangent} ({event.how})"


# -- the engine -------------------------------------------------------------------------------------------------------


@_of(ev.BackwardStarted)
def _backward(trace: Trace, event: ev.BackwardStarted) -> str:
    roots = ", ".join(node_title(trace, node, event.seq) for node, _ in event.roots)
    requested = ", ".join(requested_inputs(trace, event))
    aim = f" for {requested}" if requested else ""
    return shortened(f"{'backward' if event.accumulate else 'grad'} from {roots}{aim}", WIDTH)


@_of(ev.DependenciesCounted)
def _counted(trace: Trace, event: ev.DependenciesCounted) -> str:
    edges = sum(number for _, number in event.counts)
    return f"{edges} edge{'' if edges == 1 else 's'} counted"


@_of(ev.ExecInfoPopulated)
def _exec_info(trace: Trace, event: ev.ExecInfoPopulated) -> str:
    needed, pruned = len(event.needed), len(event.pruned)
    return f"exec_info: {needed} Node{'' if needed == 1 else 's'} needed, {pruned} pruned"


@_of(ev.BackwardFinished)
def _backward_finished(trace: Trace, event: ev.BackwardFinished) -> str:
    return "backward done"


@_of(ev.GradientReduced)
def _reduced(trace: Trace, event: ev.GradientReduced) -> str:
    return f"{tensor_name(trace, event.before, event.seq)} summed to {shaped(event.shape)}"


@_of(ev.GradientAccumulated)
def _accumulated(trace: Trace, event: ev.GradientAccumulated) -> str:
    return f"{tensor_name(trace, event.tensor, event.seq)}.grad ({event.how})"


@_of(ev.DependencyMet)
def _dependency(trace: Trace, event: ev.DependencyMet) -> str:
    node = node_title(trace, event.node, event.seq)
    if event.skipped:
        return f"{node} is not needed"
    return f"{node} waits for {event.left} more" if event.left else f"{node} has all its gradients"


@_of(ev.NodeQueued)
def _node_queued(trace: Trace, event: ev.NodeQueued) -> str:
    node = node_title(trace, event.node, event.seq)
    return f"{node} is {_queued(backward_around(trace, event.seq), event.node)}"


def _queued(backward: Backward | None, node: int) -> str:
    if backward is None or backward.needs(node):
        return "ready"
    return "queued to be captured" if backward.captures(node) else "queued, but not needed"


@_of(ev.NodeSkipped)
def _node_skipped(trace: Trace, event: ev.NodeSkipped) -> str:
    return f"{node_title(trace, event.node, event.seq)} does not run"


@_of(ev.NodeStarted)
def _node_started(trace: Trace, event: ev.NodeStarted) -> str:
    number = "" if event.sequence_nr == NO_NUMBER else f", seq {event.sequence_nr}"
    return f"run {node_title(trace, event.node, event.seq)}{number}"


@_of(ev.FormulaSkipped)
def _formula_skipped(trace: Trace, event: ev.FormulaSkipped) -> str:
    return f"no gradient for {edge_text(trace, event.node, event.edge, event.seq)}: not needed"


@_of(ev.NodeFinished)
def _node_finished(trace: Trace, event: ev.NodeFinished) -> str:
    return shortened(f"{node_title(trace, event.node, event.seq)} done", WIDTH)


@_of(ev.HookRan)
def _hook(trace: Trace, event: ev.HookRan) -> str:
    return f"{event.kind} {event.function}"


@_of(ev.AnomalyFound)
def _anomaly(trace: Trace, event: ev.AnomalyFound) -> str:
    return f"anomaly in {node_title(trace, event.node, event.seq)}"


@_of(ev.GradientBuffered)
def _buffered(trace: Trace, event: ev.GradientBuffered) -> str:
    tensor, node = tensor_name(trace, event.tensor, event.seq), node_title(trace, event.node, event.seq)
    return f"{tensor} for {node} ({event.how})"


@_of(ev.GradientCaptured)
def _captured(trace: Trace, event: ev.GradientCaptured) -> str:
    return f"result {event.position} taken at {node_title(trace, event.node, event.seq)}"


@_of(ev.VariablesReleased)
def _released(trace: Trace, event: ev.VariablesReleased) -> str:
    return f"{node_title(trace, event.node, event.seq)} releases its saved variables"


# -- registrations ----------------------------------------------------------------------------------------------------


@_of(ev.OperatorDefined)
def _defined(trace: Trace, event: ev.OperatorDefined) -> str:
    return f"def {event.operator}"


@_of(ev.KernelRegistered)
def _registered(trace: Trace, event: ev.KernelRegistered) -> str:
    verb = "removed" if event.removed else "impl" if event.operator else "fallback"
    return f"{verb} {event.operator or 'all operators'} {event.key}: {event.kernel}"


@_of(ev.CellsRecomputed)
def _recomputed(trace: Trace, event: ev.CellsRecomputed) -> str:
    cells = "1 cell" if len(event.cells) == 1 else f"{len(event.cells)} cells"
    return f"{cells} of {event.operator} changed"
