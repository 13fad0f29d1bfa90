"""Check that the events of a pattern can happen: an event with a misspelled name never does, so a test that expects
none would always pass. The same is true of facts that a recording of an installed PyTorch does not see.

A name exists if it is in the trace, if PyTorch has it, or if a library of the program has already registered it.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from dispatchviz.core.record.events import Dispatched, HookRan, KernelSelected, NodeCreated, NodeStarted
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.cells.operator_names import USUAL, close_operators, find_operator, joined
from dispatchviz.explain.keys.key_names import NAMES as KEY_NAMES
from dispatchviz.explain.keys.key_names import runtime_keys
from dispatchviz.explain.kinds.all_kinds import KINDS
from dispatchviz.explain.trace_index.display_names import plain_node
from dispatchviz.explain.trace_index.recorded_engine import UNSEEN_RUNNING, is_live
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.testing.existing_names import close_kernels, existing
from dispatchviz.testing.failures import without_log
from dispatchviz.testing.golden_levels import is_own_operator
from dispatchviz.testing.patterns import Pattern
from dispatchviz.testing.trace_text import short_node


class UnseenError(ValueError):
    """A pattern that asks for a fact that the recording of an installed PyTorch cannot see."""


def check_names(trace: Trace, patterns: Iterable[Pattern]) -> None:
    """Raise ValueError, with similar names, for a pattern with a name that does not exist, and for one that asks for a
    fact that the recording cannot see.
    """
    __tracebackhide__ = True
    for pattern in patterns:
        if hidden := _unseen(trace, pattern):
            text = f"{pattern!r} cannot be checked on PyTorch {trace.header.pytorch}, because a release build does not"
            raise without_log(UnseenError(f"{text} show it: {hidden}; the model does"))
        for field, name in pattern.fields.items():
            kind = _kind(pattern, field)
            if kind and isinstance(name, str):
                check_name(trace, kind, name, f"{pattern!r}: ")


def _unseen(trace: Trace, pattern: Pattern) -> str:
    """Return why a recording of an installed PyTorch cannot see the events of a pattern; empty if it can."""
    if not is_live(trace.header):
        return ""
    if pattern.kind is HookRan and pattern.fields.get("kind") in UNSEEN_RUNNING:
        return f"when a {pattern.fields['kind']} runs"
    known = KINDS[pattern.kind].known
    fields = (by for name, (how, by) in known.fields.items() if how == "unseen" and name in pattern.fields)
    return known.by if known.how == "unseen" else next(fields, "")


def check_name(trace: Trace, kind: str, name: str, where: str = "") -> None:
    """Check a name of a kind: ``operator``, ``key``, ``any key``, ``kernel``, ``Node``, ``short Node``. Raise
    ValueError if it does not exist.
    """
    __tracebackhide__ = True
    known = existing(trace, kind, name)
    if name in known:
        return
    seen = _in_trace(trace, kind)
    if name not in seen:
        close = close_kernels(name) if kind == "kernel" else ()
        raise without_log(ValueError(f"{where}{_refusal(kind, name, sorted({*known, *seen, *close}))}"))


def _refusal(kind: str, name: str, known: Collection[str]) -> str:
    if kind == "key" and name.lower() in KEY_NAMES:
        keys = [key.name for key in runtime_keys([name])]
        return f"no call is dispatched to {name!r}, but to {', '.join(keys[:3])}{' ...' * (len(keys) > 3)}"
    near = " or ".join(near_names(kind, name, known))
    hint = f"; did you mean {near}?" if near else ""
    return f"there is no {kind.removeprefix('any ').removeprefix('short ')} {name!r}{hint}"


def near_names(kind: str, name: str, known: Collection[str]) -> list[str]:
    """Return the names that an unknown name may have meant, the best one first."""
    same = [each for each in known if each.casefold() == name.casefold()]
    meant = _own_operators(name, known) or _meant_operator(name, known) if kind == "operator" else []
    return same or meant or difflib.get_close_matches(name, known, 3, 0.5)


def _own_operators(name: str, known: Collection[str]) -> list[str]:
    """Return the operators of the program's library that a name with its namespace may mean."""
    namespace = f"{name.partition('::')[0]}::"
    own = [each for each in known if each.startswith(namespace) and is_own_operator(each)]
    return difflib.get_close_matches(name, own, 3, 0.5)


def _meant_operator(name: str, known: Collection[str]) -> list[str]:
    """Return the operators that an incomplete name means, such as ``add``, ``torch.add`` and ``aten::add``."""
    try:
        return [find_operator(name, known).name]
    except DispatchvizError:
        bases = [] if "." in name.partition("::")[2] else close_operators(name, known)
        return [_one_of(base, known) for base in bases]


def _one_of(base: str, known: Collection[str]) -> str:
    """Return the most common overload, else the first."""
    usual = (full for full in (joined(base, overload) for overload in USUAL) if full in known)
    return next(usual, "") or min(name for name in known if name.startswith(f"{base}."))


def _kind(pattern: Pattern, field: str) -> str:
    """Return the kind of name in a field; empty if the field can be anything."""
    if field == "name":
        return "Node" if pattern.kind in (NodeCreated, NodeStarted) else ""
    if field == "key":
        return "key" if pattern.kind in (Dispatched, KernelSelected) else "any key"
    return field if field in ("operator", "kernel") else ""


def _in_trace(trace: Trace, kind: str) -> set[str]:
    """Return the names of that kind in the events of a trace."""
    if kind == "short Node":
        return {short_node(event.name) for event in trace if isinstance(event, NodeCreated | NodeStarted)}
    if kind == "Node":
        names = {event.name for event in trace if isinstance(event, NodeCreated | NodeStarted)}
        return names | set(map(plain_node, names))
    field = {"any key": "key"}.get(kind, kind)
    found = {getattr(event, field, None) for event in trace}
    return {name for name in found if isinstance(name, str) and name}
