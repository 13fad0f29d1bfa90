"""The cards of tensors from step to step, each made again only if an event can have changed it."""

from __future__ import annotations

from collections.abc import Hashable
from weakref import WeakKeyDictionary

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.tensor_numbers import numbers_of
from dispatchviz.outputs.page.moments import tensor_moment
from dispatchviz.views.panes.tensors_pane import NamedCard, named_card


def kept_card(trace: Trace, tensor: int, at: int) -> NamedCard | None:
    """Return the card and the name of a tensor, or None if the trace does not have it at that step."""
    known = _cards.setdefault(trace, {})
    now = tensor_moment(trace, tensor, at), numbers_of(trace, tensor, at)
    if tensor not in known or known[tensor][0] != now:
        known[tensor] = now, named_card(trace, tensor, at)
    return known[tensor][1]


_cards: WeakKeyDictionary[Trace, dict[int, tuple[Hashable, NamedCard | None]]] = WeakKeyDictionary()
"""The last card of each tensor, and the moment for which it was made."""
