"""The thread's state in a few words, for the header: ``no_grad · 2 guards``."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.explain.moment.thread_state import ThreadState


def short(state: ThreadState) -> str:
    """The state in a few words; empty if it is as a thread begins."""
    return " · ".join(_short(state))


def _short(state: ThreadState) -> Iterator[str]:
    if state.inference.on:
        yield "inference mode"
    elif not state.grad.on:
        yield "no_grad" if state.grad.why == "torch.no_grad()" else "grad mode off"
    yield from (f"autocast {each.device}" for each in state.autocast if each.on)
    yield from state.transforms
    yield from state.modes
    guards = sum(not guard.is_mode for guard in state.guards)
    if guards:
        yield f"{guards} guard{'' if guards == 1 else 's'}"
