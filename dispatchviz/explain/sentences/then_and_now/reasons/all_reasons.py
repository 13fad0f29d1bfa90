"""All reasons, as one value."""

from __future__ import annotations

from collections.abc import Mapping

from dispatchviz.explain.sentences.then_and_now.entries import Reason
from dispatchviz.explain.sentences.then_and_now.reasons.dispatching import DISPATCHING
from dispatchviz.explain.sentences.then_and_now.reasons.engine import ENGINE
from dispatchviz.explain.sentences.then_and_now.reasons.graph import GRAPH
from dispatchviz.explain.sentences.then_and_now.reasons.kernels import KERNELS
from dispatchviz.explain.sentences.then_and_now.reasons.layers import LAYERS

QUESTIONS: Mapping[str, tuple[Reason, ...]] = {
    "Dispatching": DISPATCHING,
    "Layers": LAYERS,
    "Kernels": KERNELS,
    "The graph": GRAPH,
    "The engine": ENGINE,
}
"""By their headings."""

REASONS = tuple(reason for questions in QUESTIONS.values() for reason in questions)
