"""The questions of a thing, whatever it is, and what a list calls it."""

from __future__ import annotations

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.things.answer import Question
from dispatchviz.explain.things.node_questions import node_questions
from dispatchviz.explain.things.step_things import NodeThing, TensorThing
from dispatchviz.explain.things.tensor_questions import tensor_questions
from dispatchviz.explain.things.uses import uses
from dispatchviz.explain.trace_index.display_names import described, node_title, tensor_name
from dispatchviz.explain.trace_index.trace_index import index


def questions(trace: Trace, thing: TensorThing | NodeThing, at: int) -> list[Question]:
    """All of them, with names as of a step."""
    if isinstance(thing, NodeThing):
        return node_questions(trace, thing.number, at)
    return tensor_questions(trace, thing.number, at, uses(trace))


def title(trace: Trace, thing: TensorThing | NodeThing, at: int) -> str:
    """``z (t4)``, ``MulBackward0``."""
    named = node_title if isinstance(thing, NodeThing) else tensor_name
    return named(trace, thing.number, at)


def description(trace: Trace, thing: TensorThing | NodeThing, at: int) -> str:
    """``[2, 2] float32 on cuda:0``; empty of a Node. Of a tensor that is still to come as it will be made."""
    if isinstance(thing, NodeThing):
        return ""
    made = index(trace).tensors.get(thing.number)
    return described(trace, thing.number, max(at, made.seq if made else at))
