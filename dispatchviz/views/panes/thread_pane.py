"""The thread-local state: grad mode, inference mode, autocast, transforms, the stack of guards, and the key sets."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.key_set_lanes import names_of
from dispatchviz.explain.keys.key_text import keys_text
from dispatchviz.explain.trace_index.enclosing_steps import at_or_around
from dispatchviz.explain.trace_index.recorded_engine import is_live
from dispatchviz.explain.trace_index.thread_state import Autocast, Guard, Switch, ThreadState, thread_state
from dispatchviz.foundation.english import plain_dtype
from dispatchviz.views.text.styled_line import Line, line

NAME = 11
"""The width of the name of a fact, in cells."""


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """The rows of the state after a step."""
    state = thread_state(trace, at)
    if is_live(trace.header):
        return _live_rows(trace, state, at)
    return [
        _switch("grad mode", state.grad, "Nodes are recorded", "no Nodes are recorded"),
        *([_inference(state.inference)] if state.inference.on else []),
        *(_autocast(each) for each in state.autocast),
        *([_named("transforms", " in ".join(state.transforms[::-1]))] if state.transforms else []),
        *([_named("modes", ", then ".join(state.modes[::-1]))] if state.modes else []),
        *_guards(state.guards),
        _set("included", state.included),
        _set("excluded", state.excluded),
    ]


def _live_rows(trace: Trace, state: ThreadState, at: int) -> list[Line]:
    """The rows for an installed PyTorch, whose switches are not visible: grad mode and the sets at the enclosing call,
    and the derived guards. A recording does not have the grad mode of a backward pass.
    """
    calls = at_or_around(trace, at, ev.Dispatched) is not None
    is_known = calls and at_or_around(trace, at, ev.BackwardStarted) is None
    sets = [_set("included", state.included), _set("excluded", state.excluded)]
    none = line((f"{'guards':<{NAME}}", "dim"), ("none derived", ""))
    return [
        *([_switch("grad mode", state.grad, "Nodes are recorded", "no Nodes are recorded")] if is_known else []),
        line((f"{'switches':<{NAME}}", "dim"), ("inference mode and autocast are not seen", "dim"), indent=NAME),
        *(_guards(state.guards) if state.guards else [none]),
        *(sets if calls else [line((f"{'key sets':<{NAME}}", "dim"), ("read at each call", "dim"))]),
    ]


def _named(name: str, value: str) -> Line:
    return line((f"{name:<{NAME}}", "dim"), (value, "bold"), key=name, value=value, indent=NAME)


def _switch(name: str, switch: Switch, on: str, off: str) -> Line:
    value, said = ("on", on) if switch.on else ("off", off)
    why = f"  {switch.why}" if switch.why and not switch.on else ""
    return line(
        (f"{name:<{NAME}}", "dim"),
        (value, "" if switch.on else "warning"),
        (why, "name"),
        (f"  {said}", "dim"),
        key=name,
        value=value,
        goto=switch.seq,
        indent=NAME,
    )


def _inference(switch: Switch) -> Line:
    return line((f"{'inference':<{NAME}}", "dim"), ("on", "warning"), ("  the autograd keys are excluded", "dim"),
                key="inference", value="on", goto=switch.seq, indent=NAME)  # fmt: skip


def _autocast(each: Autocast) -> Line:
    value = "on" if each.on else "off"
    said = f"  casts to {plain_dtype(each.dtype)}" if each.on else ""
    if each.excluded:
        said = "  a guard excludes its key here, so the casts themselves are not cast"
    return line((f"{'autocast':<{NAME}}", "dim"), (f"{each.device} ", "name"), (value, "warning" if each.on else ""),
                (said, "dim"), key=f"autocast {each.device}", value=value, goto=each.seq, indent=NAME)  # fmt: skip


def _guards(guards: tuple[Guard, ...]) -> list[Line]:
    if not guards:
        return [line((f"{'guards':<{NAME}}", "dim"), ("none open", ""))]
    head = line((f"{'guards':<{NAME}}", "dim"), (f"{len(guards)} open, innermost first", ""))
    return [head, *(_guard(guard) for guard in reversed(guards))]


def _guard(guard: Guard) -> Line:
    changes = (
        ("excludes", guard.excludes),
        ("no longer excludes", guard.no_longer_excludes),
        ("includes", guard.includes),
        ("no longer includes", guard.no_longer_includes),
    )
    said = ", ".join(f"{verb} {keys_text(keys)}" for verb, keys in changes if keys)
    kind = " (dispatch mode)" if guard.is_mode else ""
    return line(("  ", ""), (guard.name, "bold"), (kind, "dim"), (f"  {said or 'changes nothing'}", ""),
                key=f"{guard.seq} guard", goto=guard.seq, indent=4)  # fmt: skip


def _set(name: str, raw: int) -> Line:
    text = f"{{{', '.join(names_of(raw))}}}" if name == "included" else keys_text(raw)
    return line((f"{name:<{NAME}}", "dim"), (text, "key"), key=name, indent=NAME)
