"""The rules of the engine: what always holds for each kind of its steps, and where PyTorch does it."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.locations.pytorch_locations import ENGINE, NODE, apply_function
from dispatchviz.explain.sentences import event_groups

Facts = tuple[str, str, str]
"""Text, function and file of a rule."""


def engine_rule(event: event_groups.EngineEvent) -> Facts:
    """The rule that a step of the engine follows."""
    if isinstance(event, ev.NodeStarted):
        return ("A Node turns the gradients of its outputs into those of its inputs.", *apply_function(event.name))
    if isinstance(event, ev.HookRan):
        return (_HOOK_ORDER, *_HOOKS.get(event.kind, ("torch::autograd::Engine::evaluate_function", ENGINE)))
    return _RULES[type(event)]


_RULES: dict[type[ev.Event], Facts] = {
    ev.BackwardStarted: (
        (
            "One backward pass is one graph task. Without inputs= every Node runs; with them, and in grad(), only "
            "those on the paths to them."
        ),
        "torch::autograd::Engine::execute",
        ENGINE,
    ),
    ev.DependenciesCounted: (
        (
            "Edges count, not producers: two edges from one Node count two. Below the smallest topological number of "
            "the requested Nodes none is counted."
        ),
        "torch::autograd::Engine::compute_dependencies",
        ENGINE,
    ),
    ev.ExecInfoPopulated: (
        (
            "A Node is needed if backward(inputs=) requests it, or if one of its edges leads to a Node that should "
            "execute: that is needed or captured."
        ),
        "torch::autograd::GraphTask::init_to_execute",
        ENGINE,
    ),
    ev.DependencyMet: (
        (
            "A Node is ready when a gradient, defined or not, has arrived by every edge into it; one that should not "
            "execute gets no input buffer and is never ready."
        ),
        "torch::autograd::Engine::evaluate_function",
        ENGINE,
    ),
    ev.NodeQueued: (
        (
            "Each device has a queue, the CPU one per calling thread; the innermost (reentrant) backward comes first, "
            "then the largest sequence number."
        ),
        "torch::autograd::ReadyQueue::push",
        ENGINE,
    ),
    ev.NodeSkipped: (
        ("For a Node that is reached and not needed only the tensor pre hooks run and its gradients are captured."),
        "torch::autograd::Engine::evaluate_function",
        ENGINE,
    ),
    ev.FormulaSkipped: (
        "A formula is evaluated only if its edge leads to a Node that should execute in this graph task.",
        "torch::autograd::Node::task_should_compute_output",
        NODE,
    ),
    ev.NodeFinished: (
        "The outgoing gradients are checked against shape, dtype, device and layout of the forward inputs.",
        "torch::autograd::validate_outputs",
        ENGINE,
    ),
    ev.AnomalyFound: (
        "In anomaly mode a Node stores the stack trace of its creation, printed when an error is raised in it.",
        "torch::autograd::PyAnomalyMetadata::print_stack",
        "torch/csrc/autograd/python_anomaly_mode.cpp",
    ),
    ev.GradientReduced: (
        "A gradient of a broadcast input is summed back to the input's shape.",
        "torch::autograd::validate_outputs",
        ENGINE,
    ),
    ev.GradientBuffered: (
        (
            "Gradients that meet at one input of a Node are summed before it runs: in place if grad mode is off and "
            "the buffer alone owns the first one, a dense tensor without overlaps and no subclass."
        ),
        "torch::autograd::InputBuffer::add",
        "torch/csrc/autograd/input_buffer.cpp",
    ),
    ev.GradientAccumulated: (
        (
            "The first gradient is stolen (detached, not copied) if grad mode is off, nothing else references it, and "
            "its strides obey the layout contract: the leaf's strides if that is dense without overlaps, else "
            "contiguous. Otherwise it is copied into such strides. Later ones are added, in place if grad mode is off."
        ),
        "torch::autograd::AccumulateGrad::accumulateGrad",
        "torch/csrc/autograd/functions/accumulate_grad.h",
    ),
    ev.GradientCaptured: (
        (
            "grad() captures a gradient in the input buffer of the Node that it arrives at: before its tensor pre "
            "hooks if the Node runs as well, else after them."
        ),
        "torch::autograd::Engine::evaluate_function",
        ENGINE,
    ),
    ev.VariablesReleased: (
        (
            "Without retain_graph a Node releases its saved variables right after it ran, before its gradients are "
            "passed on."
        ),
        "torch::autograd::Node::release_variables",
        NODE,
    ),
    ev.FinalCallbackQueued: (
        "A final callback belongs to the graph task that runs when it is queued; outside of one it is refused.",
        "torch::autograd::Engine::queue_callback",
        ENGINE,
    ),
    ev.FinalCallbackCalled: (
        "Final callbacks run in the order in which they were queued; one that is queued by another runs as well.",
        "torch::autograd::GraphTask::exec_post_processing",
        ENGINE,
    ),
    ev.BackwardFinished: (
        "A graph task is complete when no Node is queued or running; then its final callbacks run.",
        "torch::autograd::GraphTask::mark_as_completed_and_run_post_processing",
        ENGINE,
    ),
}

_HOOK_ORDER = (
    "Tensor pre hooks run first, then retains-grad hooks, then the Node's pre hooks; post hooks run after the Node, "
    "post-accumulate hooks once .grad is written."
)
_PYTHON_HOOKS = "torch/csrc/autograd/python_hook.cpp"
_HOOKS = {
    "tensor pre hook": ("torch::autograd::PyFunctionTensorPreHook::operator()", _PYTHON_HOOKS),
    "retains-grad hook": ("torch::autograd::VariableHooks::retain_grad", "torch/csrc/autograd/variable.cpp"),
    "pre hook": ("torch::autograd::PyFunctionPreHook::operator()", _PYTHON_HOOKS),
    "post hook": ("torch::autograd::PyFunctionPostHook::operator()", _PYTHON_HOOKS),
    "post-accumulate hook": ("torch::autograd::PyFunctionTensorPostAccGradHooks::operator()", _PYTHON_HOOKS),
}
"""Where PyTorch calls a hook of each kind; in which order is the business of the engine."""
