"""SavedVariable: a tensor that a Node saves for its formula (``torch/csrc/autograd/saved_variable.cpp``).

Rule 1: an input, or a leaf, is saved as the same object. An output that is not a leaf is saved as an alias without
history, since tensor -> Node -> tensor would be a cycle. Unpacking returns a new tensor with that history each time.
Rule 2: unpacking compares the version at saving with the current version.
Rule 3: the alias keeps the tangent too, while the dual level is open.

Not here: hooks that pack the saved tensor (``saved_variable_hooks.py``).
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, TypeVar

from dispatchviz.core.autograd.engine import anomaly_mode
from dispatchviz.core.autograd.forward_mode.forward_ad import levels, restore_tangent, saved_tangent
from dispatchviz.core.autograd.variables.legacy_type import legacy_type
from dispatchviz.core.autograd.variables.variable import grad_fn, is_inference, shallow_copy_and_detach
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.recorder import PLAIN

if TYPE_CHECKING:
    from dispatchviz.core.autograd.forward_mode.forward_grad import ForwardGrad
    from dispatchviz.core.autograd.graph.node import Node
    from dispatchviz.core.autograd.graph.saved_variable_hooks import Packed
    from dispatchviz.core.tensor.tensor import Tensor

ERR_BACKWARD_TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved "
    "tensors after calling backward."
)
_INFERENCE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in "
    "autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
)
DETACHED = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_()."
    "This is not supported, please use out-of-place `.detach()` instead"
)
_HINT = (
    " Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
    "torch.autograd.set_detect_anomaly(True, check_nan=False)."
)
_HINT_IN_ANOMALY_MODE = (
    " Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable in "
    "question was changed in there or anywhere later. Good luck!"
)

T = TypeVar("T")


class SavedVariable:
    """A tensor as it was when it was saved. ``SavedVariable(None)`` represents an undefined tensor.

    Raise RuntimeError for an inference tensor.
    """

    __slots__ = (
        "_data",
        "_fw_grad",
        "_grad_fn",
        "_is_leaf",
        "_is_undefined",
        "_original",
        "_output_nr",
        "_packed",
        "_recorded_as",
        "_version",
    )

    _data: Tensor | None
    """The saved tensor; None after it was released."""
    _fw_grad: ForwardGrad | None
    """The tangent of a copy."""
    _grad_fn: weakref.ref[Node] | None
    """The history of an in-place result on a view."""
    _original: bool
    """True if ``_data`` is the saved object itself."""
    _packed: Packed | None
    """The packed object of a PackedVariable; None after it was released."""
    _recorded_as: tuple[int, str]
    """The serial number of the Node that saves it, and the name, once a recorder has emitted that."""

    def __init__(self, variable: Tensor | None, is_output: bool = False, is_inplace_on_view: bool = False) -> None:
        self._data = variable
        self._grad_fn = None
        self._output_nr = 0
        self._original = True
        self._is_undefined = variable is None
        if variable is None:
            return
        if is_inference(variable):
            raise RuntimeError(_INFERENCE)
        self._version = variable._version_counter.value
        self._is_leaf = variable._grad_fn is None  # the stored one: a stale view's history is not replayed
        if is_inplace_on_view:
            node = grad_fn(variable)
            assert node is not None, "the result of an in-place operation on a view has a history"
            self._grad_fn = weakref.ref(node)
        if is_output and not self._is_leaf:
            self._original = False
            self._output_nr = variable._output_nr
            self._fw_grad = saved_tangent(variable) if levels else None
            self._data = shallow_copy_and_detach(variable, variable._version_counter)

    def unpack(self, saved_for: Node | None = None) -> Tensor | None:
        """Return the tensor. ``saved_for`` is the owning Node, which is the history of an output. Formulas pass it for
        outputs only.

        Raise RuntimeError if the tensor was released, detached in place, or changed since.
        """
        data = self._data
        if data is None:
            if self._is_undefined:
                return None
            raise RuntimeError(ERR_BACKWARD_TWICE)
        if (
            self._original
            and data._version_counter.value == self._version
            and data._view is None
            and (self._is_leaf or data._grad_fn is not None)
        ):
            return data  # the common case, which needs no more checks
        history = self._history(data, saved_for)
        if data._version_counter.value != self._version:
            raise RuntimeError(self._was_modified(data, history))
        if self._original:
            return data
        return self._with_history(data, history)

    def _history(self, data: Tensor, saved_for: Node | None) -> Node | None:
        """Return the grad_fn of the unpacked tensor. This also regenerates that of a stale view."""
        if self._grad_fn is not None:
            node = self._grad_fn()
        else:
            node = grad_fn(data) if self._original else None
        if node is None and not self._is_leaf:
            if saved_for is None:
                raise RuntimeError(DETACHED)
            return saved_for
        return node

    def _with_history(self, data: Tensor, history: Node | None) -> Tensor:
        variable = shallow_copy_and_detach(data, data._version_counter)
        variable._grad_fn = history
        variable._output_nr = self._output_nr
        if recorder.active is not None and variable._number < 0:  # the history did not come from a handler
            recorder.active.tensor_created(variable)
        restore_tangent(variable, self._fw_grad)
        return variable

    def _was_modified(self, data: Tensor, history: Node | None) -> str:
        origin = f", which is output {self._output_nr} of {history.forward_op_name()}," if history is not None else ""
        return (
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[{legacy_type(data)} {list(data._size)}]{origin} is at version {data._version_counter.value}; "
            f"expected version {self._version} instead."
            f"{_HINT_IN_ANOMALY_MODE if anomaly_mode.is_enabled() else _HINT}"
        )

    def reset_data(self) -> None:
        """Drop the tensor."""
        self._data = None

    def __repr__(self) -> str:
        return f"<torch._C._autograd.SavedTensor object at {id(self):#x}>"

    @property
    def data(self) -> Any:
        """The saved object, without any check."""
        return self._data

    @property
    def unpack_hook(self) -> Any:
        """The hook that unpacks it, if it has hooks."""
        return None


NOT_SAVED = SavedVariable(None)
"""The content of a slot whose tensor no valid edge needs."""


def save(
    node: Node,
    name: str,
    tensor: Tensor | None,
    edge: int | None = None,
    is_output: bool = False,
    is_inplace_on_view: bool = False,
) -> SavedVariable:
    """Return the SavedVariable to put into a slot of ``node``.

    ``edge`` is the only edge whose formula needs the tensor. If it is empty, nothing is saved.
    """
    if edge is not None and node.next_edges[edge].function is None:
        if recorder.active is not None:
            recorder.active.variable_not_saved(node, name, edge)
        return NOT_SAVED
    saved = SavedVariable(tensor, is_output, is_inplace_on_view)
    if recorder.active is not None:
        recorder.active.variable_saved(node, name, saved, tensor, is_output)
    return saved


def keep(node: Node, name: str, value: T) -> T:
    """Record that a plain value is saved in a slot of ``node``. Return the value."""
    rec = recorder.active
    if rec is not None:
        rec.note(("attribute_saved", node._number, name, value if value.__class__ in PLAIN else str(value)))
    return value
