"""The options that choose a picture of a trace and its looks."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dispatchviz.outputs.picture.chosen_picture import Chosen

NAMES = ("picture", "step", "steps", "folded", "expand", "detail", "cluster", "theme", "dark")
"""The names of the parameters."""

OPTIONS = (
    click.option(
        "--picture",
        type=click.Choice(["backward", "calls", "decision", "table", "classes", "memory"]),
        help="Draw this picture. backward (the default): the backward graph. calls: which operator calls which in the "
        "forward pass. decision: how one call is dispatched. table: the dispatch table of its operator, and what fills "
        "it. classes: the classes of its structured kernel. memory: the tensors saved for backward, from when to when.",
    ),
    click.option(
        "--step",
        metavar="N",
        type=click.IntRange(min=0),
        help="Draw the backward graph as of this step, the call at this step, or the memory that is kept at this step.",
    ),
    click.option(
        "--steps",
        metavar="A-B",
        help="In a log or a hand-out, show only these steps, such as 45 or 45-80. In a picture, draw the backward "
        "graph as of step B with changes since step A marked, or the calls or the memory from A to B.",
    ),
    click.option(
        "--fold/--no-fold",
        "folded",
        default=None,
        help="In a backward graph, draw repeated parts once, and Nodes in a row as one box. Default: fold graphs of "
        "more than 150 Nodes, but not .dot files.",
    ),
    click.option(
        "--expand",
        metavar="NODES",
        multiple=True,
        help="Draw these Nodes one by one: a sequence number, a range such as 3-7, the name of a Node or a leaf.",
    ),
    click.option(
        "--detail",
        type=click.Choice(["names", "edges", "saved", "all"]),
        help="Choose how much a backward graph shows; each choice adds to the one before. names: Nodes. edges: what "
        "their edges belong to. saved (the default): numbers, saved tensors, hooks and views. all: operators, "
        "topological numbers and bytes.",
    ),
    click.option(
        "--cluster",
        type=click.Choice(["module", "function", "line", "none"]),
        help="In a backward graph, draw frames around Nodes from the same module, function call or line.",
    ),
    click.option(
        "--theme",
        type=click.Choice(["light", "dark", "auto"]),
        help="Choose the colors of a picture. auto (.svg only): as the reader's browser prefers.",
    ),
    click.option("--dark", is_flag=True, help="Use dark colors, as --theme dark does."),
)


def options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command these options. It gets them as ``chosen``, the names of the given ones as ``given``, and ``steps``
    as it was typed.
    """

    @functools.wraps(command)
    def with_choice(**values: Any) -> int:
        own = {name: values.pop(name) for name in NAMES}
        return command(**values, chosen=_chosen(own), given=_given(own), steps=own["steps"])

    for option in reversed(OPTIONS):
        with_choice = option(with_choice)
    return with_choice


def _given(own: dict[str, Any]) -> list[str]:
    """Return the options that are given. ``--fold`` and ``--expand`` are left out: other formats ignore them."""
    return [
        f"--{name}" for name, value in own.items() if name not in ("folded", "expand") and value not in (None, False)
    ]


def _chosen(own: dict[str, Any]) -> Chosen:
    from dispatchviz.outputs.picture.chosen_picture import Chosen
    from dispatchviz.outputs.picture.picture_options import Options, Theme

    _check_together(own)
    theme: Theme = "dark" if own["dark"] else own["theme"] or "light"
    look = Options(own["detail"] or "saved", own["cluster"] or "none", theme)
    return Chosen(own["picture"] or "backward", _steps(own["step"], own["steps"]), own["folded"], own["expand"], look)


def _check_together(own: dict[str, Any]) -> None:
    """Raise UsageError for options that contradict each other, or belong to the backward graph when another picture is
    wanted.
    """
    if own["dark"] and own["theme"] not in (None, "dark"):
        raise click.UsageError(f"--dark and --theme {own['theme']} contradict each other")
    if own["picture"] in (None, "backward"):
        return
    wrong = {"--fold or --no-fold": own["folded"] is not None, "--expand": own["expand"]}
    wrong |= {f"--{name}": own[name] is not None for name in ("detail", "cluster")}
    if given := next((name for name, there in wrong.items() if there), None):
        raise click.UsageError(f"{given} is for the backward graph, not for --picture {own['picture']}")


def _steps(step: int | None, steps: str | None) -> tuple[int, int] | None:
    if steps is None:
        return None if step is None else (step, step)
    if step is not None:
        raise click.UsageError("--step and --steps: give one of them")
    found = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", steps)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if first > last:
        raise click.UsageError(f"--steps {steps}: give the first and the last step, such as 12-40")
    return first, last
