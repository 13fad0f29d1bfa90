"""Events of forward-mode differentiation: levels and tangents (``torch/csrc/autograd/forward_grad.cpp``)."""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Container, Event
from dispatchviz.core.record.events.field_types import Count, Level, TensorNumber

ForwardFormulaKind = Literal["auto_linear", "auto_element_wise", "Function", ""]
"""Where the formula of a tangent comes from: what ``derivatives.yaml`` says after ``result:``, the ``jvp`` of a custom
Function, or empty: ``derivatives.yaml`` writes the formula out."""

TangentSource = Literal[
    "taken as it is",
    "written in place",
    "copied, to be laid out as the tensor",
    "copied into a view of the base's tangent",
    "a view of its base's",
]
"""What a tensor's tangent is (``AutogradMeta::set_fw_grad``)."""


class DualLevelEntered(Event, frozen=True):
    """Forward mode: tensors may have tangents from here on (``torch/csrc/autograd/forward_grad.cpp``)."""

    level: Level
    """Index of the level, from 0."""


class DualLevelLeft(Event, frozen=True):
    """A level was closed, and all its tangents are dropped."""

    level: Level
    """Index of the level, from 0."""
    tangents: Count
    """How many tensors had a tangent at that level."""


class ForwardFormulaEntered(Container, frozen=True):
    """A kernel computes the tangent of its result, since an argument has one; open until it is computed."""

    formula: str
    """``other_t * self_p + self_t * other_p``: ``_t`` is a tangent, ``_p`` an argument without its tangent."""
    how: ForwardFormulaKind
    """Where the formula comes from."""


class TangentSet(Event, frozen=True):
    """A tensor has a tangent (``AutogradMeta::set_fw_grad``)."""

    tensor: TensorNumber
    """Number of the tensor."""
    tangent: TensorNumber
    """Number of its tangent."""
    how: TangentSource
    """What the tangent is."""
