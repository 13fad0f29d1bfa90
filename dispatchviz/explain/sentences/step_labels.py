"""The short text of a step in the event list, and the sign in front of it; the long form is ``step_sentences.py``.

A function per kind of event, found by its type: a log asks for a million labels. They are in ``labels/``, by subject. A
kind without one fails a test (``tests/explain/test_labels.py``); that a function is given the kind that it is for,
the type check sees.
"""

from __future__ import annotations

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.event_groups import sign
from dispatchviz.explain.sentences.labels import (
    dispatch_labels,
    engine_labels,
    forward_labels,
    node_labels,
    program_labels,
    registration_labels,
    tensor_labels,
    thread_labels,
)
from dispatchviz.explain.sentences.labels.label_functions import WIDTH, Labels

__all__ = ["LABELS", "WIDTH", "label", "sign"]

LABELS = Labels(
    {
        **program_labels.LABELS,
        **dispatch_labels.LABELS,
        **thread_labels.LABELS,
        **tensor_labels.LABELS,
        **forward_labels.LABELS,
        **node_labels.LABELS,
        **engine_labels.LABELS,
        **registration_labels.LABELS,
    }
)


def label(trace: Trace, seq: int) -> str:
    """The short text of step ``seq``."""
    event = trace[seq]
    return LABELS[type(event)](trace, event)
