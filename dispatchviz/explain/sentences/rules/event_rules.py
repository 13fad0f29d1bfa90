"""The rule behind each kind of event, with PyTorch's own function and file for it.

The function is the one to look for in PyTorch's sources, the file where it is declared or defined; both are empty for
what happens outside PyTorch.
"""

from __future__ import annotations

from typing import NamedTuple, assert_never

from dispatchviz.core.record import events as ev
from dispatchviz.explain.errors.broken_rules import broken_rule
from dispatchviz.explain.locations.native_files import kernel_file, structured_file
from dispatchviz.explain.locations.pytorch_locations import (
    DISPATCHER,
    GENERATED,
    NODE,
    binding_file,
    entry_point,
)
from dispatchviz.explain.sentences import event_groups
from dispatchviz.explain.sentences.rules.engine_rules import engine_rule
from dispatchviz.explain.sentences.rules.member_rules import member_rule


class Rule(NamedTuple):
    """What always holds for a kind of step, and where PyTorch does it."""

    text: str
    function: str
    file: str


EXTRACTOR = "aten/src/ATen/core/dispatch/DispatchKeyExtractor.h"
ENTRY = "aten/src/ATen/core/dispatch/OperatorEntry.cpp"
AUTOCAST = "aten/src/ATen/autocast_mode.cpp"
LAYERS = "aten/src/ATen/functorch/DynamicLayer.cpp"
LOCAL = "c10/core/impl/LocalDispatchKeySet.h"
VARIABLE = "torch/csrc/autograd/variable.cpp"
VARIABLE_TYPE = "torch/csrc/autograd/VariableTypeUtils.h"
HISTORY = "torch/csrc/autograd/functions/utils.h"

GUARD_FILES = {
    "AutoDispatchBelowAutograd": "aten/src/ATen/core/LegacyTypeDispatch.h",
    "AutoDispatchBelowADInplaceOrView": "aten/src/ATen/core/LegacyTypeDispatch.h",
    "AutoDispatchSkipFunctionalize": "aten/src/ATen/core/LegacyTypeDispatch.h",
    "IncludeDispatchKeyGuard": LOCAL,
    "ExcludeDispatchKeyGuard": LOCAL,
    "ForceDispatchKeyGuard": LOCAL,
    "InferenceMode": "c10/core/InferenceMode.h",
    "SaveLocalDispatchKeySet": LAYERS,
    "StashTorchDispatchModeGuard": "torch/csrc/utils/torch_dispatch_mode.h",
    "StashTorchDispatchStackGuard": "torch/csrc/utils/torch_dispatch_mode.h",
}


MODE = "torch/utils/_python_dispatch.py"
"""Of the modes of programs, which are guards too."""


def rule(event: ev.AnyEvent) -> Rule:
    """The rule that a step follows."""
    if isinstance(event, event_groups.ProgramEvent):
        return _program(event)
    if isinstance(event, ev.BindingEntered):
        text = "A binding tries the signatures of its function in order and takes the first one that the arguments fit."
        return Rule(text, event.pytorch_function, binding_file(event))
    if isinstance(event, event_groups.DispatchEvent):
        return _dispatch(event)
    if isinstance(event, event_groups.ThreadEvent):
        return _thread(event)
    if isinstance(event, event_groups.StructuredEvent):
        return _structured(event)
    if isinstance(event, event_groups.TensorEvent):
        return _tensor(event)
    if isinstance(event, event_groups.ForwardEvent):
        return _forward(event)
    if isinstance(event, event_groups.EngineEvent):
        return _engine(event)
    if isinstance(event, event_groups.RegistrationEvent):
        return _registration(event)
    if isinstance(event, ev.ErrorRaised):
        general = "An error unwinds every kernel and guard on its way; a guard restores its saved sets."
        return Rule(broken_rule(event.message) or general, "", "")
    if isinstance(event, ev.Unknown):
        return Rule("An event of an unknown kind is kept as it is.", "", "")
    assert_never(event)


def _program(event: event_groups.ProgramEvent) -> Rule:
    match event:
        case ev.SourceLine():
            return Rule("Python runs the program line by line.", "", "")
        case ev.NameBound():
            return Rule("A variable is a name for a tensor; the tensor does not hold it.", "", "")
        case ev.NameUnbound():
            return Rule("A tensor lives on without a name as long as something refers to it: a Node, a list.", "", "")
        case ev.Printed():
            return Rule("What the program prints is kept in the trace.", "", "")
        case ev.TensorFormatted():
            text = "Printing calls operators: they find the width and notation of the numbers."
            if event.function == "Tensor.__format__":
                return Rule(text, event.function, "torch/_tensor.py")
            return Rule(text, "torch._tensor_str._str", "torch/_tensor_str.py")
        case ev.Warned(category=""):
            text = "Outside of a call from Python, as in torch.ops, PyTorch has no Python warning to make of it."
            return Rule(text, "c10::warn", "c10/util/Exception.cpp")
        case ev.Warned():
            text = (
                "A warning changes nothing by itself; warnings.filterwarnings decides whether it is shown, or raised."
            )
            return Rule(text, "", "")
        case ev.ProgramRaised():
            return Rule("An uncaught exception ends the program, and with it the trace.", "", "")
        case _:
            assert_never(event)


def _dispatch(event: event_groups.DispatchEvent) -> Rule:
    match event:
        case ev.Dispatched():
            if event.how.startswith("re"):
                text = "A redispatch uses the set it is given: no arguments, no thread state, no mask."
            else:
                text = "A call computes a key set; its highest key selects a cell of the operator's table."
            return Rule(text, *entry_point(event))
        case ev.KeySetComputed():
            text = (
                "((keys of all tensor arguments | included) - excluded) & mask of the operator; the highest key is "
                "called."
            )
            return Rule(text, "c10::impl::computeDispatchKeySet", EXTRACTOR)
        case ev.FallthroughSkipped():
            text = "An operator's mask has a zero for each key whose cell is a fallthrough, so no time is lost on it."
            return Rule(text, "c10::DispatchKeyExtractor::setOperatorHasFallthroughForKey", EXTRACTOR)
        case ev.KernelSelected():
            text = (
                "A cell takes the kernel of its own key, else of a composite alias, else of Autograd, else the key's "
                "fallback. That is settled when kernels are registered, not when the operator is called."
            )
            return Rule(text, "c10::impl::OperatorEntry::computeDispatchTableEntryWithDebug", ENTRY)
        case ev.KernelEntered():
            text = "A kernel may assume that its own key is the highest in the key set it receives."
            return Rule(text, event.kernel, kernel_file(event.kernel, event.pytorch_file))
        case ev.KernelReturned():
            return Rule("Results are returned through the kernels that redispatched.", "", "")
        case ev.ResultHashed():
            return Rule(
                "The same kernels on the same numbers give the same numbers, unless they draw random ones.", "", ""
            )
        case ev.Boxed():
            text = "Boxed code works on a stack of IValues; arguments are pushed left to right."
            return Rule(text, "c10::impl::boxArgs", "aten/src/ATen/core/boxing/impl/boxing.h")
        case ev.Unboxed():
            text = "A boxed kernel pops its arguments and pushes its returns."
            return Rule(text, "", "aten/src/ATen/core/boxing/KernelFunction.h")
        case ev.TorchDispatchEntered() | ev.TorchDispatchLeft():
            text = (
                "The innermost mode is called first, then the __torch_dispatch__ of each tensor class, subclasses "
                "before their bases; NotImplemented passes the call to the next one."
            )
            return Rule(text, "handle_torch_function_no_python_arg_parser", "torch/csrc/utils/python_arg_parser.cpp")
        case _:
            assert_never(event)


def _thread(event: event_groups.ThreadEvent) -> Rule:
    match event:
        case ev.GuardEntered():
            text = "A guard saves the thread's whole included and excluded sets and changes them. Exclusion wins."
            return Rule(text, event.guard, GUARD_FILES.get(event.guard, MODE))
        case ev.GuardLeft():
            text = "A guard that ends restores the sets that it saved, whatever happened in between."
            return Rule(text, event.guard, GUARD_FILES.get(event.guard, MODE))
        case ev.GradModeChanged():
            text = "Grad mode is a thread-local flag that autograd kernels check; it is no dispatch key."
            return Rule(text, "c10::GradMode::set_enabled", "c10/core/GradMode.h")
        case ev.InferenceModeChanged():
            text = "Inference mode excludes the autograd keys and takes ADInplaceOrView out of the included set."
            return Rule(text, "c10::InferenceMode", "c10/core/InferenceMode.h")
        case ev.StreamChanged():
            text = "A thread has one current stream per device; kernels are queued on it and the CPU does not wait."
            return Rule(text, "c10::cuda::setCurrentCUDAStream", "c10/cuda/CUDAStream.cpp")
        case ev.StreamEventRecorded() | ev.StreamWaited():
            text = "Streams are ordered by events alone: one records, the other waits, and the CPU blocks in neither."
            return Rule(text, "c10::Stream::wait", "c10/core/Stream.cpp")
        case ev.MemoryUsedOnStream():
            text = "The caching allocator knows one stream per block, the allocating one; others need record_stream."
            return Rule(text, "recordStream", "c10/cuda/CUDACachingAllocator.cpp")
        case ev.DynamicLayerPushed() | ev.DynamicLayerPopped():
            pushed = isinstance(event, ev.DynamicLayerPushed)
            text = (
                "The transform on top of the stack gets a call first; then the call goes to the others one by one, "
                "and after the last one to an ordinary dispatch."
            )
            return Rule(text, f"at::functorch::{'push' if pushed else 'pop'}DynamicLayer", LAYERS)
        case ev.AutocastChanged():
            text = "Autocast is on for a device if the thread does not exclude the device's Autocast key."
            return Rule(text, "at::autocast::set_autocast_enabled", AUTOCAST)
        case ev.AutocastCast():
            text = (
                "Autocast casts the floating tensors of its device, float64 aside; the cast of a float32 leaf that "
                "requires grad to the lower precision is cached."
            )
            return Rule(text, "at::autocast::cached_cast", AUTOCAST)
        case ev.AutocastCacheCleared():
            text = "Leaving the outermost autocast clears the cache."
            return Rule(text, "at::autocast::clear_cache", AUTOCAST)
        case _:
            assert_never(event)


def _structured(event: event_groups.StructuredEvent) -> Rule:
    match event:
        case ev.MetaEntered():
            text = "A structured operator has one meta function for all devices: it sets the output's shape and dtype."
            return Rule(text, event.function, structured_file(event.function))
        case ev.OutputAllocated():
            text = (
                "A meta function declares its output, and the variant provides it: create_out makes one (functional), "
                "check_inplace checks self (in-place), resize_out resizes what was passed (out=)."
            )
            return Rule(text, f"at::impl::MetaBase::{event.method}", "aten/src/ATen/TensorMeta.h")
        case ev.ProxyCopied():
            text = "An output whose strides a kernel cannot use has a proxy, which is copied into it after the kernel."
            return Rule(text, "maybe_create_proxy", "torchgen/dest/register_dispatch_key.py")
        case ev.ImplEntered():
            text = "A structured operator has one impl function per device: it writes the data of the output."
            return Rule(text, event.function, structured_file(event.function))
        case _:
            assert_never(event)


def _tensor(event: event_groups.TensorEvent) -> Rule:
    match event:
        case ev.TensorCreated():
            text = (
                "A tensor gets the keys of its backend when it is made, those of autocast among them, and those of "
                "autograd outside of inference mode; a view has the keys of its base."
            )
            return Rule(text, "c10::TensorImpl::TensorImpl", "c10/core/TensorImpl.cpp")
        case ev.ViewMade():
            text = "The base of a view is never itself a view."
            return Rule(text, "torch::autograd::as_view", VARIABLE_TYPE)
        case ev.VersionBumped():
            text = "A view shares the version counter of its base, x.data has its own; in-place operators bump it."
            return Rule(text, "torch::autograd::increment_version", VARIABLE_TYPE)
        case ev.GeometryChanged():
            text = (
                "Sizes and strides belong to the tensor, not to its memory: they can be changed without a new tensor."
            )
            return Rule(text, "c10::TensorImpl", "c10/core/TensorImpl.h")
        case ev.RequiresGradSet(detached=True):
            text = "detach_ removes a tensor from its graph: it is a leaf that does not require grad from then on."
            return Rule(text, "VariableType::detach_", "torch/csrc/autograd/VariableTypeManual.cpp")
        case ev.RequiresGradSet():
            text = "requires_grad is a flag in the tensor's autograd metadata and changes no key."
            return Rule(text, "torch::autograd::AutogradMeta::set_requires_grad", "torch/csrc/autograd/variable.h")
        case ev.GradSet(retained=True):
            text = "Retains-grad hooks run after all tensor pre-hooks: .grad is what these have made of the gradient."
            return Rule(text, "torch::autograd::impl::retain_grad", VARIABLE)
        case ev.GradSet():
            text = (
                "What is assigned to .grad has the tensor's shape, its grad_dtype (its dtype, unless another is set) "
                "and kind of device, or is None."
            )
            return Rule(text, "THPVariable_set_grad", "torch/csrc/autograd/python_variable.cpp")
        case ev.KeySetChanged():
            text = (
                "Few bits of a tensor's key set change once it is made: conjugate, negative, zero and the Python keys. "
                "With x.data = y, x takes over the set of y."
            )
            return Rule(text, "c10::TensorImpl", "c10/core/TensorImpl.h")
        case ev.InplaceChecked():
            text = (
                "An autograd kernel checks before it writes: in grad mode no leaf that requires grad, no view of one, "
                "and no view whose creation_meta forbids it may be written to, if an argument requires grad."
            )
            return Rule(text, "torch::autograd::check_inplace", VARIABLE_TYPE)
        case ev.NumbersRecorded():
            text = "Numbers are in a tensor's memory: all tensors on it see what one of them writes."
            return Rule(text, "c10::StorageImpl", "c10/core/StorageImpl.h")
        case ev.TensorWrapperMade():
            text = "Each level of grad has tensors of its own, so that the levels' histories stay separate."
            return Rule(text, "at::functorch::makeTensorWrapper", "aten/src/ATen/functorch/TensorWrapper.cpp")
        case ev.BatchedTensorMade():
            text = "A BatchedTensor has the shape of one example; the batch is in the tensor that it wraps."
            return Rule(text, "at::functorch::makeBatched", "aten/src/ATen/functorch/BatchedTensorImpl.cpp")
        case _:
            assert_never(event)


Saved = ev.AttributeSaved | ev.VariableSaved | ev.VariableNotSaved | ev.SavedTensorHookRan
"""What a Node keeps for its formulas."""


def _forward(event: event_groups.ForwardEvent) -> Rule:
    if isinstance(event, event_groups.TangentEvent):
        return _tangent(event)
    if isinstance(event, event_groups.MemberEvent):
        return Rule(*member_rule(event))
    match event:
        case ev.NodeCreated(name="torch::autograd::AccumulateGrad"):
            text = "A leaf's AccumulateGrad takes no sequence number from the counter: it has the maximum, 2**64 - 1."
            return Rule(text, "torch::autograd::AccumulateGrad", "torch/csrc/autograd/functions/accumulate_grad.h")
        case ev.NodeCreated():
            text = (
                "A kernel that records makes a Node with c10::make_intrusive: it counts the references to itself. "
                "Sequence numbers count up per thread, in the order of creation."
            )
            return Rule(text, "torch::autograd::Node::Node", NODE)
        case ev.EdgesCollected():
            text = (
                "Edge i goes to the Node that made input i, or to its AccumulateGrad if it is a leaf; an input that "
                "requires no grad has an empty edge."
            )
            return Rule(text, "torch::autograd::collect_next_edges", "torch/csrc/autograd/function.h")
        case ev.AttributeSaved() | ev.VariableSaved() | ev.VariableNotSaved() | ev.SavedTensorHookRan():
            return _saved(event)
        case ev.AccumulatorMade():
            text = "A leaf has one AccumulateGrad, by a weak reference; the graphs that lead to it own it."
            return Rule(text, "torch::autograd::impl::grad_accumulator", VARIABLE)
        case ev.HistorySet():
            text = "A result's grad_fn is the Node of its operator; flatten_tensor_args makes one list of all results."
            return Rule(text, "torch::autograd::set_history", HISTORY)
        case ev.HistoryRebased():
            text = (
                "An in-place operator rebases the history onto its Node: the tensor's, or its base's if it is a view. "
                "A view's own grad_fn is then regenerated from its base's."
            )
            return Rule(text, "torch::autograd::rebase_history", VARIABLE_TYPE)
        case ev.FunctionEntered():
            text = "A Function's forward runs without grad mode; its Node, made before, represents all of it."
            return Rule(text, "THPFunction_apply", "torch/csrc/autograd/python_function.cpp")
        case ev.FunctionOutput():
            text = (
                "Outputs of a Function: an input that was marked dirty is rebased, one returned as it is becomes a "
                "view, what is non-differentiable is detached, all else gets the Function's Node as its grad_fn."
            )
            return Rule(text, "torch::autograd::_wrap_outputs", "torch/csrc/autograd/custom_function.cpp")
        case ev.NodeDeleted():
            text = (
                "A Node is freed when the last c10::intrusive_ptr to it goes. Nodes that only its edges kept go along, "
                "from a stack (gatherFunctions) and not by recursion, so a chain may have any length. In older "
                "releases that was done by deleteNode, which is no more."
            )
            return Rule(text, "torch::autograd::Node::release_resources", NODE)
        case ev.NoNodeMade():
            text = "A Node is made if grad mode is on and a differentiable input requires grad."
            return Rule(text, "torch::autograd::compute_requires_grad", HISTORY)
        case _:
            assert_never(event)


def _saved(event: Saved) -> Rule:
    match event:
        case ev.AttributeSaved():
            return Rule(
                "Plain values are saved as they are; they keep no tensor in memory.", "", f"{GENERATED}/Functions.h"
            )
        case ev.VariableSaved():
            text = "A tensor is saved with its version, unless a hook packs it; unpacking it after a change raises."
            return Rule(text, "torch::autograd::SavedVariable", "torch/csrc/autograd/saved_variable.cpp")
        case ev.VariableNotSaved():
            text = "A tensor that only one formula uses is saved only if that formula's edge is not empty."
            return Rule(text, "torch::autograd::Node::should_compute_output", NODE)
        case ev.SavedTensorHookRan():
            text = (
                "The innermost pair of hooks packs what is saved; what it returns is kept, and no version is compared."
            )
            return Rule(text, "torch::autograd::SavedVariable", "torch/csrc/autograd/saved_variable.cpp")
        case _:
            assert_never(event)


def _tangent(event: event_groups.TangentEvent) -> Rule:
    match event:
        case ev.DualLevelEntered() | ev.DualLevelLeft():
            text = "Tangents belong to a level: leaving it removes them. One level may be open, for all threads."
            return Rule(text, "ForwardADLevel", "torch/csrc/autograd/forward_grad.cpp")
        case ev.ForwardFormulaEntered():
            text = "If an argument has a tangent, the kernel evaluates the operator's forward formula after the call."
            return Rule(text, "emit_fw_derivatives", "tools/autograd/gen_variable_type.py")
        case ev.TangentSet():
            text = "A tensor and its tangent have the same layout; a view's tangent is that view of its base's tangent."
            return Rule(text, "AutogradMeta::set_fw_grad", "torch/csrc/autograd/autograd_meta.cpp")
        case _:
            assert_never(event)


def _engine(event: event_groups.EngineEvent) -> Rule:
    return Rule(*engine_rule(event))


def _registration(event: event_groups.RegistrationEvent) -> Rule:
    match event:
        case ev.OperatorDefined():
            text = "An operator is defined once, by its schema; kernels may come before or after."
            return Rule(text, "c10::Dispatcher::registerDef", DISPATCHER)
        case ev.KernelRegistered():
            if not event.operator:
                text = "A key has one fallback, for all operators; registering a second one is an error."
                return Rule(text, "c10::Dispatcher::registerFallback", DISPATCHER)
            text = "The newest kernel of a key is the active one; the older ones are kept behind it."
            return Rule(text, "c10::Dispatcher::registerImpl", DISPATCHER)
        case ev.CellsRecomputed():
            text = "A registration recomputes the cells of its key or alias, and a backend's autograd cell with them."
            return Rule(text, "c10::impl::OperatorEntry::updateDispatchTable_", ENTRY)
        case _:
            assert_never(event)
