"""All statements and all reasons, each list as one value."""

from __future__ import annotations

from collections.abc import Mapping

from dispatchviz.explain.sentences.then_and_now.entries import PastStatement, Reason
from dispatchviz.explain.sentences.then_and_now.reasons.dispatching import DISPATCHING, KERNELS
from dispatchviz.explain.sentences.then_and_now.reasons.graph import ENGINE, GRAPH
from dispatchviz.explain.sentences.then_and_now.reasons.layers import LAYERS
from dispatchviz.explain.sentences.then_and_now.statements.autograd_kernel import AUTOGRAD_KERNEL
from dispatchviz.explain.sentences.then_and_now.statements.boxing import BOXING
from dispatchviz.explain.sentences.then_and_now.statements.call_stack import CALL_STACK
from dispatchviz.explain.sentences.then_and_now.statements.factories import FACTORIES
from dispatchviz.explain.sentences.then_and_now.statements.generated_code import GENERATED_CODE
from dispatchviz.explain.sentences.then_and_now.statements.key_sets import KEY_SETS
from dispatchviz.explain.sentences.then_and_now.statements.structured_kernels import STRUCTURED_KERNELS

CHAPTERS: Mapping[str, tuple[PastStatement, ...]] = {
    "Keys, key sets and tables": KEY_SETS,
    "The autograd kernel and Nodes": AUTOGRAD_KERNEL,
    "Functions that make tensors": FACTORIES,
    "Boxed kernels and vmap": BOXING,
    "Generated code": GENERATED_CODE,
    "Structured kernels": STRUCTURED_KERNELS,
    "The stack of a call": CALL_STACK,
}
"""The statements, by heading."""

STATEMENTS = tuple(statement for chapter in CHAPTERS.values() for statement in chapter)


QUESTIONS: Mapping[str, tuple[Reason, ...]] = {
    "Dispatching": DISPATCHING,
    "Layers": LAYERS,
    "Kernels": KERNELS,
    "The graph": GRAPH,
    "The engine": ENGINE,
}
"""The reasons, by heading."""

REASONS = tuple(reason for questions in QUESTIONS.values() for reason in questions)
