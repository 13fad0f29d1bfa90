"""Everything that a trace can say: one small frozen class per kind of event, a closed union.

An event holds numbers and words, never a live object: tensors, Nodes and storages are numbered in the order in
which the recorder met them, a key set is its raw integer. ``seq`` is the order of happening and the event's name
everywhere; ``parent`` is the ``seq`` of the event during which it happened (None at the top). Events that can have
children are listed in ``CONTAINERS``. What can be computed from these facts (sentences, trees, key names, tables) is
computed when somebody looks, in ``explain`` and ``render``.

Not here: who writes events (``recorder.py``), the value that holds them (``trace.py``).
"""

from __future__ import annotations

from msgspec import Struct


class Event(Struct, frozen=True, gc=False, array_like=True, tag=True):
    """What every event has."""

    seq: int
    """Position in the trace, from 0."""
    parent: int | None
    """The event during which this one happened."""


# -- program ----------------------------------------------------------------------------------------------------------


class SourceLine(Event, frozen=True, gc=False, array_like=True, tag=True):
    """The program runs a line, or comes back to one; open until the next one."""

    file: str
    """As in the header's ``sources``."""
    line: int
    """From 1."""
    function: str = ""
    """The function that the line is in: ``Net.forward``, ``<lambda>``; empty for the file's own top level."""
    caller: int | None = None
    """The line from which that function was called, or resumed; None at the bottom of the user's stack."""


class NameBound(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A variable of the program now names a tensor: from here on texts call the tensor by this name."""

    name: str
    tensor: int


class Printed(Event, frozen=True, gc=False, array_like=True, tag=True):
    """The program wrote to its standard output."""

    text: str


class TensorFormatted(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A tensor is put into words, by operators like any other computation; open until they are there.

    ``torch/_tensor_str.py``, ``torch/_tensor.py``.
    """

    tensor: int
    function: str
    """``Tensor.__repr__`` or ``Tensor.__format__``."""


class ProgramRaised(Event, frozen=True, gc=False, array_like=True, tag=True):
    """An exception left the program. Always the last event."""

    exception: str
    """Class name, ``RuntimeError``."""
    message: str
    file: str
    line: int
    """The program's own line, from 1; 0 if there is none."""


# -- binding ----------------------------------------------------------------------------------------------------------


class BindingEntered(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A Python binding was called and has parsed its arguments (``torch/csrc/utils/python_arg_parser.cpp``)."""

    function: str
    """As the user writes it: ``torch.add``, ``Tensor.sum``, ``Tensor.__add__``."""
    pytorch_function: str
    """``THPVariable_add``."""
    signature: str
    """The signature that matched, in PyTorch's own notation."""
    signatures_tried: int
    """How many signatures were looked at, the matching one included."""
    arguments: tuple[tuple[str, str], ...]
    """Parameter name and value in words; a tensor is written ``t3`` (its number)."""
    operator: str
    """The operator that it calls, ``aten::add.Tensor``; empty if it calls none."""


# -- dispatch ---------------------------------------------------------------------------------------------------------


class Dispatched(Event, frozen=True, gc=False, array_like=True, tag=True):
    """An operator is called or redispatched; open until the chosen kernel has returned."""

    how: str
    """``call``, ``redispatch``, ``callBoxed`` or ``redispatchBoxed``."""
    operator: str
    """``aten::add.Tensor``."""
    key_set: int
    """The raw effective key set that picks the cell."""
    key: str
    """The highest key of ``key_set``: ``AutogradCUDA``."""


class KeySetComputed(Event, frozen=True, gc=False, array_like=True, tag=True):
    """How a call (not a redispatch) came to its key set; every number is a raw 64-bit set.

    ``c10/core/impl/LocalDispatchKeySet.h``, ``aten/src/ATen/core/dispatch/DispatchKeyExtractor.h``.
    """

    arguments: tuple[tuple[str, int, int], ...]
    """Of each tensor argument: parameter name, tensor number, its key set."""
    included: int
    """Of the thread."""
    excluded: int
    """Of the thread."""
    mask: int
    """The operator's mask: bits of fallthrough keys are 0."""
    effective: int
    generator: int = 0
    """Key set of the random generator among the arguments; boxed calls do not look at it."""

    @property
    def united(self) -> int:
        """OR of the arguments' sets."""
        keys = self.generator
        for _, _, raw in self.arguments:
            keys |= raw
        return keys

    @property
    def with_included(self) -> int:
        """``united`` with the thread's included set."""
        return self.united | self.included

    @property
    def without_excluded(self) -> int:
        """Then without the excluded set; subtraction never clears a backend bit."""
        return self.with_included & (0xFFFF | ~self.excluded)


class FallthroughSkipped(Event, frozen=True, gc=False, array_like=True, tag=True):
    """Keys that the mask removed from this call's set, because their cell holds a fallthrough."""

    keys: tuple[tuple[str, str, str], ...]
    """Of each key, highest first: name, reason of its cell (``backend fallback``, ``kernel``), where that fallthrough
    was registered."""


class KernelSelected(Event, frozen=True, gc=False, array_like=True, tag=True):
    """The cell of the operator's table that was picked, and why it holds what it holds."""

    operator: str
    key: str
    cell: int
    """Index into the table of 137 cells."""
    kernel: str
    """Name of the kernel in the cell: ``VariableType::add_Tensor``."""
    reason: str
    """PyTorch's tag: ``kernel``, ``default backend kernel``, ``autograd kernel``, ``math kernel``,
    ``backend fallback``, ..."""
    source: str
    """The key or alias under which that kernel is registered: ``Autograd``."""
    registered: str
    """Where, as PyTorch's dump says it."""
    candidates: tuple[tuple[str, str, str], ...]
    """Every place a kernel could have come from, in order of precedence: key or alias, outcome (``taken``,
    ``nothing registered``, ``not asked``, or why it was passed over), kernel name (empty if none)."""


class KernelEntered(Event, frozen=True, gc=False, array_like=True, tag=True):
    """The kernel of a cell runs; open until it returns."""

    kernel: str
    """In PyTorch's words: ``VariableType::add_Tensor``, ``wrapper_CUDA_add_Tensor``."""
    pytorch_file: str
    """The file of PyTorch it is in: ``torch/csrc/autograd/generated/VariableType_2.cpp``."""
    key_set: int
    """The raw set that the kernel receives."""
    file: str
    """Our Python source of it, relative to the package: ``core/generated/variable_type.py``; empty if it has none."""
    line: int
    """First line of the function there; 0 if it has none."""
    end_line: int
    """Last line of it."""


class KernelReturned(Event, frozen=True, gc=False, array_like=True, tag=True):
    """The kernel came back. ``parent`` is its ``KernelEntered``."""

    tensors: tuple[int, ...]
    """Numbers of the returned tensors."""


class Boxed(Event, frozen=True, gc=False, array_like=True, tag=True):
    """Typed arguments were pushed onto a stack for a boxed kernel."""

    operator: str
    values: int
    """How many values were pushed."""


class Unboxed(Event, frozen=True, gc=False, array_like=True, tag=True):
    """Values were popped from a stack for a typed kernel or caller."""

    operator: str
    values: int


# -- thread state -----------------------------------------------------------------------------------------------------


class GuardEntered(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A guard changed the thread's sets (raw integers); open until ``GuardLeft``."""

    guard: str
    """``AutoDispatchBelowADInplaceOrView``."""
    included_before: int
    included: int
    excluded_before: int
    excluded: int


class GuardLeft(Event, frozen=True, gc=False, array_like=True, tag=True):
    """The guard wrote the saved sets back. ``parent`` is its ``GuardEntered``."""

    guard: str
    included: int
    excluded: int


class GradModeChanged(Event, frozen=True, gc=False, array_like=True, tag=True):
    """Grad mode of the thread was switched; no key changes."""

    enabled: bool
    why: str
    """``torch.no_grad()``, ``leaving torch.no_grad()``, ``backward without create_graph`` ..."""


class InferenceModeChanged(Event, frozen=True, gc=False, array_like=True, tag=True):
    """Inference mode of the thread was switched."""

    enabled: bool


class StreamChanged(Event, frozen=True, gc=False, array_like=True, tag=True):
    """Another stream of the CUDA device is the thread's current one (``c10::cuda::setCurrentCUDAStream``).

    Streams are told by number: 0 is the default stream, the others count from 1.
    """

    before: int
    stream: int
    why: str
    """``torch.cuda.stream(s)``, ``the forward of MulBackward0 ran on it``, ``leaving ...``"""


class StreamEventRecorded(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A CUDA event marks what is in a stream by now (``c10::Event::record``). Events are numbered from 1."""

    event: int
    stream: int
    why: str


class StreamWaited(Event, frozen=True, gc=False, array_like=True, tag=True):
    """What is put into a stream from here on waits for a CUDA event; the caller goes on (``c10::Stream::wait``)."""

    stream: int
    event: int
    recorded_on: int
    """The stream that the event marks."""
    why: str


class MemoryUsedOnStream(Event, frozen=True, gc=False, array_like=True, tag=True):
    """The allocator learns that a stream uses a tensor's memory (``recordStream``): it is not given away before."""

    tensor: int
    stream: int
    why: str


class DynamicLayerPushed(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A transform of functorch is on top of the thread's stack from here on (``functorch/DynamicLayer.cpp``).

    The first one on the stack includes FuncTorchDynamicLayerFrontMode and FuncTorchDynamicLayerBackMode.
    """

    level: int
    """From 1, the outermost."""
    transform: str
    """``Vmap``."""
    why: str
    """``begins``, or ``is back`` after a call has gone on below it."""
    included: int
    """The thread's included set now."""


class DynamicLayerPopped(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A transform left the stack; the last one takes the keys of Front and Back out of the included set."""

    level: int
    transform: str
    why: str
    """``ends``, or ``lets the call go on``."""
    included: int
    """The thread's included set now."""


class AutocastChanged(Event, frozen=True, gc=False, array_like=True, tag=True):
    """Autocast was switched for a kind of device, or its dtype set: the device's Autocast key leaves the excluded set
    or returns to it."""

    device: str
    """``cpu``, ``cuda``."""
    enabled: bool
    """It is on now."""
    dtype: str
    """What it casts to now: ``torch.bfloat16``."""
    excluded_before: int
    excluded: int


class AutocastCast(Event, frozen=True, gc=False, array_like=True, tag=True):
    """An argument of an autocast kernel was cast to another dtype (``cached_cast``)."""

    tensor: int
    before: str
    """Its dtype."""
    after: str
    """The dtype of the cast."""
    result: int
    """The cast, which takes the argument's place."""
    how: str
    """``cast``, ``cast and kept`` (a weight: the cache has it from now on), ``taken from the cache``."""


class AutocastCacheCleared(Event, frozen=True, gc=False, array_like=True, tag=True):
    """The outermost autocast ended, or the cache was cleared by hand: the kept casts are gone."""

    casts: int
    """How many there were."""


class TorchDispatchEntered(Event, frozen=True, gc=False, array_like=True, tag=True):
    """The Python fallback calls the ``__torch_dispatch__`` of a mode or of a tensor subclass; open until it returns.

    ``torch/csrc/utils/python_arg_parser.cpp``. What it calls on plain tensors does not reach it again.
    """

    kind: str
    """``mode`` or ``subclass``."""
    handler: str
    """The class: ``LoggingMode``."""
    function: str
    """What it gets for ``func``: ``aten.add.Tensor``."""
    types: tuple[str, ...]
    """What it gets for ``types``: the classes of the arguments that have a ``__torch_dispatch__``."""
    arguments: tuple[tuple[str, str], ...]
    """Name (``args[0]``, or the keyword) and value in words; arguments that have their default are left out."""
    included: int
    """The thread's sets under which it runs."""
    excluded: int
    modes_left: int
    """Modes that what it calls will meet."""


class TorchDispatchLeft(Event, frozen=True, gc=False, array_like=True, tag=True):
    """The handler came back. ``parent`` is its ``TorchDispatchEntered``."""

    handler: str
    tensors: tuple[int, ...]
    """Numbers of the returned tensors."""
    not_implemented: bool
    """It returned NotImplemented: the next handler is asked."""


# -- structured kernels -----------------------------------------------------------------------------------------------


class MetaEntered(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A structured kernel's meta function checks its arguments and asks for its output; open until it returns.

    Operands that an elementwise kernel has to cast on the CPU are cast here (``TensorIteratorBase::compute_types``).
    """

    function: str
    """``structured_add_Tensor::meta``."""


class OutputAllocated(Event, frozen=True, gc=False, array_like=True, tag=True):
    """``set_output`` provided the output that a meta function asked for."""

    variant: str
    """``functional`` (new tensor), ``in-place`` (self), ``out`` (given by the caller), ``default backend`` (new tensor,
    by a call through the dispatcher)."""
    tensor: int
    resized: bool
    method: str = "set_output_raw_strided"
    """``set_output_strided`` and ``set_output_contiguous`` ask for strides that the kernel cannot do without."""
    proxy: int | None = None
    """The tensor that the impl writes in the output's place, if the output has other strides than these."""
    shape: tuple[int, ...] = ()
    """What was asked for."""
    dtype: str = ""
    """``torch.float32``; empty in traces of format 1."""


class ProxyCopied(Event, frozen=True, gc=False, array_like=True, tag=True):
    """The impl has written a proxy; the call of ``copy_`` that follows brings the numbers into the output."""

    proxy: int
    output: int


class ImplEntered(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A structured kernel's impl function writes the output; open until it returns."""

    function: str
    """``structured_ufunc_add_CUDA::impl``."""
    tensors: tuple[int, ...]
    """What it writes: outputs, proxies, or the temporaries of an elementwise kernel."""
    file: str
    """Our Python source of the kernel body, relative to the package."""
    line: int
    end_line: int


# -- tensors ----------------------------------------------------------------------------------------------------------


class TensorCreated(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A tensor came into sight: created now, or already there when recording began."""

    tensor: int
    how: str
    """``new`` or ``known before``."""
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    """In elements."""
    dtype: str
    device: str
    """``cuda:0``, ``cpu``, ``meta``."""
    key_set: int
    storage: int
    """Number of its storage; tensors with one storage share memory. -1 for meta tensors."""
    requires_grad: bool
    wrapped_number: bool
    """It is a Python number that met a tensor parameter."""


class ViewMade(Event, frozen=True, gc=False, array_like=True, tag=True):
    """``as_view``: a tensor became a differentiable view."""

    tensor: int
    base: int
    """The root base, never itself a view."""
    creation_meta: str
    """``DEFAULT``, ``MULTI_OUTPUT_NODE``, ``NO_GRAD_MODE``, ``INFERENCE_MODE``, ``IN_CUSTOM_FUNCTION``."""


class VersionBumped(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A version counter (shared by all views of the storage) moved."""

    tensor: int
    before: int
    after: int
    counter: int = -1
    """Number of the counter: tensors that share it notice each other's changes. -1 in traces of older versions."""


class GeometryChanged(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A tensor that exists got other sizes or strides: ``resize_``, outputs of the wrong size, in-place views."""

    tensor: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    """In elements."""


class RequiresGradSet(Event, frozen=True, gc=False, array_like=True, tag=True):
    """``requires_grad_()`` on a leaf, or ``detach_()``: no key changes."""

    tensor: int
    requires_grad: bool
    detached: bool = False
    """By ``detach_()``: its history, if there was one, is gone too."""


class KeySetChanged(Event, frozen=True, gc=False, array_like=True, tag=True):
    """The key set of an existing tensor changed (conj and neg bits, Python keys)."""

    tensor: int
    before: int
    after: int


class TensorWrapperMade(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A tensor was wrapped for a level of ``grad``, which keeps a history of its own (``TensorWrapper.cpp``)."""

    tensor: int
    """The wrapper."""
    value: int
    """What it wraps."""
    level: int
    """Of the ``grad``."""


class BatchedTensorMade(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A tensor was wrapped so that one of its dimensions is hidden: inside ``vmap`` (``BatchedTensorImpl.cpp``)."""

    tensor: int
    """The BatchedTensor."""
    value: int
    """What it wraps."""
    bdim: int
    """The dimension of the value that is hidden."""
    level: int
    """Of the vmap that hides it."""


# -- autograd, forward ------------------------------------------------------------------------------------------------


class NodeCreated(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A backward Node was constructed (``torch/csrc/autograd/node.h``)."""

    node: int
    name: str
    """``AddBackward0``; handwritten ones in full, ``torch::autograd::AccumulateGrad``."""
    sequence_nr: int
    """18446744073709551615 for AccumulateGrad."""
    topological_nr: int
    """At construction; ``EdgesCollected`` has the number that the edges give."""
    thread: int
    """Id of the constructing thread, the main thread is 1."""
    known: bool = False
    """It was made before the recording began, and comes into sight here."""


class EdgesCollected(Event, frozen=True, gc=False, array_like=True, tag=True):
    """The next edges of a Node were set."""

    node: int
    edges: tuple[tuple[int, int] | None, ...]
    """Per forward input: (node, input_nr), or None for an empty edge."""
    inputs: tuple[tuple[str, int | None], ...]
    """The forward argument behind each edge: parameter name, tensor number (None: undefined); empty if unknown."""
    topological_nr: int


class AttributeSaved(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A Node keeps a plain value."""

    node: int
    name: str
    value: str


class VariableSaved(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A Node keeps a tensor for its formula."""

    node: int
    name: str
    tensor: int | None
    """None: an undefined tensor."""
    version: int
    """The tensor's version at that moment; -1 if undefined."""
    is_output: bool
    counter: int = -1
    """Number of the version counter that it is under (``VersionBumped``); -1 if undefined."""
    packed: bool = False
    """A hook packed it: what that gave is kept instead, and no version is compared."""


class VariableNotSaved(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A tensor that only one formula uses was not saved, because that formula's edge is empty."""

    node: int
    name: str
    edge: int


class SavedTensorHookRan(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A saved-tensor hook was called (``torch/csrc/autograd/python_saved_variable_hooks.cpp``)."""

    kind: str
    """``pack hook`` or ``unpack hook``."""
    function: str
    tensor: int
    """What is packed, or what came out."""
    packed: str
    """The type of what is kept in its stead."""
    node: int | None = None
    """The Node that keeps it, if that was told before: not where the tensor is packed as it is saved."""
    name: str = ""
    """As what that Node keeps it."""


class AccumulatorMade(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A leaf got its AccumulateGrad; the tensor holds it weakly, graphs hold it."""

    node: int
    tensor: int


class HistorySet(Event, frozen=True, gc=False, array_like=True, tag=True):
    """``set_history``: a result got its grad_fn."""

    tensor: int
    node: int
    output_nr: int


class HistoryRebased(Event, frozen=True, gc=False, array_like=True, tag=True):
    """``rebase_history``: an in-place result got a new grad_fn."""

    tensor: int
    node: int
    output_nr: int


class FunctionEntered(Event, frozen=True, gc=False, array_like=True, tag=True):
    """``Function.apply``: the user's forward runs, with grad mode off; open until it returns.

    ``torch/csrc/autograd/python_function.cpp``. Its Node, and the edges, have been made.
    """

    function: str
    """Name of the class."""
    node: int
    needs_input_grad: tuple[bool, ...]
    """Per argument: a tensor that requires grad."""
    recorded: bool
    """Grad mode is on and something requires grad: what the forward returns gets a history."""
    setup_context: bool
    """The forward gets no ctx; ``setup_context`` follows it, within this event."""
    file: str
    """The user's forward."""
    line: int
    end_line: int


class FunctionOutput(Event, frozen=True, gc=False, array_like=True, tag=True):
    """What becomes of a tensor that a Function's forward returned (``torch/csrc/autograd/custom_function.cpp``)."""

    node: int
    position: int
    """Among what was returned."""
    returned: int
    result: int
    """The tensor that the caller gets: the same, or one that stands for it."""
    how: str
    """``set``, ``rebased``, ``viewed``, ``detached``, ``detached in place``, ``plain``: without history, as it is."""
    marked: str
    """``dirty``, ``non-differentiable``, or empty."""
    is_input: bool
    creation_meta: str
    """If the result is a view: whether it may be written to (``DEFAULT``) or why not; else empty."""


class NoNodeMade(Event, frozen=True, gc=False, array_like=True, tag=True):
    """The autograd kernel recorded nothing."""

    operator: str
    why: str
    """``grad mode is off``, ``no input requires grad``, ``never differentiable``, ``detached``."""


class DualLevelEntered(Event, frozen=True, gc=False, array_like=True, tag=True):
    """Forward mode: tensors may have tangents from here on (``torch/csrc/autograd/forward_grad.cpp``)."""

    level: int


class DualLevelLeft(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A level was closed, and with it all its tangents are gone."""

    level: int
    tangents: int
    """How many tensors had one."""


class ForwardFormulaEntered(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A kernel computes the tangent of its result, since an argument has one; open until it is computed."""

    formula: str
    """``other_t * self_p + self_t * other_p``: ``_t`` is a tangent, ``_p`` an argument without its tangent."""
    how: str
    """``auto_linear``, ``auto_element_wise``, ``Function``: its jvp, or empty: derivatives.yaml spells it out."""


class TangentSet(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A tensor has a tangent (``AutogradMeta::set_fw_grad``)."""

    tensor: int
    tangent: int
    how: str
    """What the tangent is: ``taken as it is``, ``written in place``, ``copied, to be laid out as the tensor``,
    ``copied into a view of the base's tangent``, ``a view of its base's``."""


# -- engine -----------------------------------------------------------------------------------------------------------


class BackwardStarted(Event, frozen=True, gc=False, array_like=True, tag=True):
    """``Engine::execute``; open until ``BackwardFinished``."""

    graph_task: int
    roots: tuple[tuple[int, int], ...]
    """(node, input_nr) per root."""
    gradients: tuple[int | None, ...]
    """The root gradients, tensor numbers."""
    keep_graph: bool
    create_graph: bool
    accumulate: bool
    """True for ``backward``, False for ``grad``."""
    depth: int
    """Reentrant depth."""
    inputs: tuple[tuple[int, int], ...] = ()
    """(node, input_nr) of each gradient that was asked for, by ``grad`` or ``backward(inputs=)``, in order; empty:
    everything runs."""
    input_tensors: tuple[int | None, ...] = ()
    """The tensors that were named for it; None for a gradient edge."""


class DependenciesCounted(Event, frozen=True, gc=False, array_like=True, tag=True):
    """``compute_dependencies``: how many edges lead to each Node."""

    counts: tuple[tuple[int, int], ...]
    """(node, count), in order of discovery; the root has no entry."""
    min_topo_nr: int = 0
    """The smallest topological number among the Nodes that were asked for: edges of a Node below it are not counted."""


class ExecInfoPopulated(Event, frozen=True, gc=False, array_like=True, tag=True):
    """``GraphTask::init_to_execute``: only some gradients were asked for, so some Nodes need not run."""

    needed: tuple[int, ...]
    """The Nodes whose ``needed_`` is true: they run, unless nothing leads to them."""
    captures: tuple[tuple[int, int, int], ...]
    """(node, input_nr, position): what ``grad`` takes out of a Node's input buffer, and its place in the result."""
    pruned: tuple[tuple[int, str], ...]
    """Nodes that were come to and shall not execute, with what says so: ``topological_nr``, below the smallest of
    those asked for, so that nothing behind them is looked at; or ``should_execute``: no edge leads on to what was asked
    for."""


class DependencyMet(Event, frozen=True, gc=False, array_like=True, tag=True):
    """An edge into a Node is done with: its gradient came, defined or not."""

    node: int
    left: int
    """Edges still to come; at 0 the Node is queued."""
    defined: bool = True
    """There was a gradient; an undefined one counts as well."""
    skipped: bool = False
    """``should_execute`` is false: what came is dropped, and the Node is never queued."""


class NodeQueued(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A Node whose count reached zero was pushed to a ready queue."""

    node: int
    sequence_nr: int
    device: str
    """The queue: ``cpu`` or ``cuda:0``."""
    queue: tuple[tuple[int, int], ...]
    """(node, sequence_nr) of what now waits there, in the order in which it would be popped."""


class NodeSkipped(Event, frozen=True, gc=False, array_like=True, tag=True):
    """The engine popped a Node that is not ``needed_``: after its tensor pre hooks and captures it is not called."""

    node: int


class FormulaSkipped(Event, frozen=True, gc=False, array_like=True, tag=True):
    """``task_should_compute_output`` is false: a Node does not compute a gradient, since this graph task does not need
    the Node that the edge leads to."""

    node: int
    edge: int


class NodeStarted(Event, frozen=True, gc=False, array_like=True, tag=True):
    """The engine popped a Node and evaluates it; open until ``NodeFinished``."""

    node: int
    name: str
    sequence_nr: int
    gradients: tuple[int | None, ...]
    """Incoming, tensor numbers."""
    waiting: tuple[tuple[int, int], ...]
    """(node, sequence_nr) of those that were ready too and must wait."""
    device: str
    thread: str
    """The thread that runs it in PyTorch: ``pt_autograd_0`` for cuda:0, ``caller`` for the CPU."""
    file: str
    """Our Python source of its formula, relative to the package; empty if none."""
    line: int
    end_line: int


class NodeFinished(Event, frozen=True, gc=False, array_like=True, tag=True):
    """``parent`` is its ``NodeStarted``."""

    node: int
    gradients: tuple[int | None, ...]
    """Outgoing, tensor numbers."""


class HookRan(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A hook was called."""

    kind: str
    """``tensor pre hook``, ``retains-grad hook``, ``pre hook``, ``post hook``, ``post-accumulate hook``."""
    node: int
    function: str
    replaced: bool
    """It returned other gradients."""
    kept: bool = False
    """A retains-grad hook has put the gradient into ``.grad``: there was one, and the tensor is still there."""


class AnomalyFound(Event, frozen=True, gc=False, array_like=True, tag=True):
    """Anomaly mode says which forward call made the Node in which an error came up."""

    node: int
    lines: str
    """The program's stack as it was then; empty if anomaly mode was off."""


class GradientReduced(Event, frozen=True, gc=False, array_like=True, tag=True):
    """``validate_outputs`` summed a broadcast gradient to its input's shape."""

    before: int
    after: int
    shape: tuple[int, ...]


class GradientBuffered(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A gradient went into an input buffer (``torch/csrc/autograd/input_buffer.cpp``)."""

    node: int
    input_nr: int
    tensor: int
    how: str
    """``stored``, ``added in place``, ``added out of place``."""
    why: str


class GradientAccumulated(Event, frozen=True, gc=False, array_like=True, tag=True):
    """A leaf's ``.grad`` was written (``torch/csrc/autograd/functions/accumulate_grad.h``)."""

    tensor: int
    """The leaf."""
    gradient: int
    """What arrived."""
    result: int
    """What ``.grad`` now is."""
    how: str
    """``stolen``, ``copied``, ``added in place``, ``added out of place``."""
    why: str


class GradientCaptured(Event, frozen=True, gc=False, array_like=True, tag=True):
    """``grad()`` took a gradient out for the caller."""

    node: int
    input_nr: int
    tensor: int | None
    position: int
    """In the result of ``grad``."""


class VariablesReleased(Event, frozen=True, gc=False, array_like=True, tag=True):
    """The graph is not kept: a Node dropped its saved variables."""

    node: int


class BackwardFinished(Event, frozen=True, gc=False, array_like=True, tag=True):
    """``parent`` is its ``BackwardStarted``."""

    graph_task: int


# -- registration -----------------------------------------------------------------------------------------------------


class OperatorDefined(Event, frozen=True, gc=False, array_like=True, tag=True):
    """``Library::def``."""

    operator: str
    schema: str
    by_fallbacks: int = -1
    """Cells of the new table that hold a backend fallback; -1 in traces from before this was told."""
    by_kernels: int = 0
    """Cells that hold kernels which were registered before the definition."""


class KernelRegistered(Event, frozen=True, gc=False, array_like=True, tag=True):
    """``Library::impl``; an empty operator is a backend fallback."""

    operator: str
    key: str
    kernel: str
    removed: bool
    """It was taken away, not added."""


class CellsRecomputed(Event, frozen=True, gc=False, array_like=True, tag=True):
    """The registration told just before changes cells of an operator's table."""

    operator: str
    cells: tuple[str, ...]
    """Runtime keys whose kernel changed."""


# -- errors -----------------------------------------------------------------------------------------------------------


class ErrorRaised(Event, frozen=True, gc=False, array_like=True, tag=True):
    """An error starts here; ``parent`` says in the middle of what."""

    exception: str
    message: str


class Unknown(Event, frozen=True, gc=False, array_like=True, tag=True):
    """An event of a newer format version: kept and shown as it is."""

    kind: str
    fields: str
    """Its other fields, as JSON."""


AnyEvent = (
    SourceLine | NameBound | Printed | TensorFormatted | ProgramRaised
    | BindingEntered
    | Dispatched | KeySetComputed | FallthroughSkipped | KernelSelected | KernelEntered | KernelReturned
    | Boxed | Unboxed
    | TorchDispatchEntered | TorchDispatchLeft
    | GuardEntered | GuardLeft | GradModeChanged | InferenceModeChanged
    | AutocastChanged | AutocastCast | AutocastCacheCleared
    | StreamChanged | StreamEventRecorded | StreamWaited | MemoryUsedOnStream
    | DynamicLayerPushed | DynamicLayerPopped
    | MetaEntered | OutputAllocated | ImplEntered | ProxyCopied
    | TensorCreated | ViewMade | VersionBumped | GeometryChanged | RequiresGradSet | KeySetChanged
    | BatchedTensorMade | TensorWrapperMade
    | NodeCreated | EdgesCollected | AttributeSaved | VariableSaved | VariableNotSaved | SavedTensorHookRan
    | AccumulatorMade | HistorySet | HistoryRebased | FunctionEntered | FunctionOutput | NoNodeMade
    | DualLevelEntered | DualLevelLeft | ForwardFormulaEntered | TangentSet
    | BackwardStarted | DependenciesCounted | ExecInfoPopulated | DependencyMet | NodeQueued | NodeSkipped
    | NodeStarted | FormulaSkipped | NodeFinished | HookRan
    | AnomalyFound | GradientReduced | GradientBuffered | GradientAccumulated | GradientCaptured
    | VariablesReleased | BackwardFinished
    | OperatorDefined | KernelRegistered | CellsRecomputed
    | ErrorRaised | Unknown
)  # fmt: skip

CONTAINERS = (
    SourceLine, TensorFormatted, BindingEntered, Dispatched, KernelEntered, MetaEntered, ImplEntered,
    TorchDispatchEntered, GuardEntered, FunctionEntered, ForwardFormulaEntered, BackwardStarted, NodeStarted,
)  # fmt: skip
"""Kinds that can be the parent of others."""
