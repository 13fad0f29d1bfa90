"""CreationMeta: the circumstances in which a view was created, and the in-place operations that they forbid
(``CreationMeta`` in ``torch/csrc/autograd/variable.h``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dispatchviz.core.record.events.tensor_events import CreationMeta

DEFAULT: Final = "DEFAULT"
MULTI_OUTPUT_NODE: Final = "MULTI_OUTPUT_NODE"
NO_GRAD_MODE: Final = "NO_GRAD_MODE"
INFERENCE_MODE: Final = "INFERENCE_MODE"
IN_CUSTOM_FUNCTION: Final = "IN_CUSTOM_FUNCTION"

_BOTH_INSIDE = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
    "the view and the inplace either both inside the {} block (if you don't want the inplace to be tracked) or both "
    "outside (if you want the inplace to be tracked)."
)
_REASONS = {
    MULTI_OUTPUT_NODE: (
        " This view is the output of a function that returns multiple views. Such functions do not allow the output "
        "views to be modified inplace. You should replace the inplace operation by an out-of-place one."
    ),
    NO_GRAD_MODE: _BOTH_INSIDE.format("no_grad"),
    INFERENCE_MODE: _BOTH_INSIDE.format("inference_mode"),
    IN_CUSTOM_FUNCTION: (
        " This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
        "logic to handle view+inplace would override the custom backward associated with the custom Function, leading "
        "to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom "
        "Function."
    ),
}


def propagate(previous: CreationMeta, new: CreationMeta) -> CreationMeta:
    """The creation meta of a view of a view (``propagate_creation_meta``)."""
    return previous if new == DEFAULT or previous == INFERENCE_MODE else new


def modified_view_error(
    creation_meta: CreationMeta, output_nr: int, function: str | None, indirect: bool
) -> RuntimeError:
    """The error of writing into a view that must not be written to.

    ``function`` is the forward name of the Node that made the view, or None if there is none. ``indirect`` means that
    its base, or another view of the base, was written to.
    """
    written = "its base or another view of its base has been" if indirect else "is being"
    if function is not None and creation_meta in (MULTI_OUTPUT_NODE, IN_CUSTOM_FUNCTION):
        subject, mode = f"Output {output_nr} of {function} is a view", ""
    else:
        of_view = f"Output {output_nr} of {function} is a view of a view which" if function is not None else "A view"
        inference = creation_meta == INFERENCE_MODE
        subject = f"{of_view} was created in {'inference mode' if inference else 'no_grad mode'}"
        mode = " in normal mode" if inference else " with grad mode enabled"
    return RuntimeError(f"{subject} and {written} modified inplace{mode}.{_REASONS[creation_meta]}")
