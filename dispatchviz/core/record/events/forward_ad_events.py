"""Events of forward-mode differentiation: levels and tangents (``torch/csrc/autograd/forward_grad.cpp``)."""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Container, Event
from dispatchviz.core.record.events.field_types import Count, Level, TensorNumber

ForwardFormulaKind = Literal["auto_linear", "auto_element_wise", "Function", ""]
"""The source of the formula of a tangent: the keyword after ``result:`` in ``derivatives.yaml``, the ``jvp`` of a
custom Function, or empty if ``derivatives.yaml`` has the formula itself.
"""

TangentSource = Literal[
    "stored without a copy",
    "written in place",
    "copied into the tensor's layout",
    "copied into a view of the base's tangent",
    "a view of the base's tangent",
]
"""The way in which a tensor gets its tangent (``AutogradMeta::set_fw_grad``)."""


class DualLevelEntered(Event, frozen=True):
    """A level of forward mode was entered: tensors may then have tangents
    (``torch/csrc/autograd/forward_grad.cpp``).
    """

    level: Level
    """Index of the level, from 0."""


class DualLevelLeft(Event, frozen=True):
    """A level was exited, and all its tangents are dropped."""

    level: Level
    """Index of the level, from 0."""
    tangents: Count
    """Number of tensors that had a tangent at that level."""


class ForwardFormulaEntered(Container, frozen=True):
    """A kernel computes the tangent of its result, since an argument has one. The event is open until the tangent is
    computed.
    """

    formula: str
    """The formula: ``other_t * self_p + self_t * other_p``. ``_t`` is a tangent, ``_p`` an argument without its
    tangent.
    """
    how: ForwardFormulaKind
    """The source of the formula."""


class TangentSet(Event, frozen=True):
    """A tensor got a tangent (``AutogradMeta::set_fw_grad``)."""

    tensor: TensorNumber
    """Number of the tensor."""
    tangent: TensorNumber
    """Number of its tangent."""
    how: TangentSource
    """The way in which the tensor gets the tangent."""
