"""``check --json``: a comparison as one value, with the sentences of the text."""

from __future__ import annotations

from typing import Any

from dispatchviz.explain.comparison.checked import Checked
from dispatchviz.explain.comparison.difference_sentences import Run, said
from dispatchviz.explain.comparison.divergence_sentences import lines_of, raised, texts
from dispatchviz.explain.comparison.divergences import Divergence
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.views.cards.check_text import amounts, release_reasons


def check_json(found: Checked, phrases: tuple[str, str]) -> dict[str, Any]:
    """Return the comparison as a dictionary for JSON.

    ``releases`` has both releases if they differ, ``release_reasons`` how they explain the differences. Each entry of
    ``differences`` has the lines, the sentences, and the step in either run, numbered as in the stepper.
    ``printed_otherwise`` has output that differs, ``model_says`` the model's own warnings, ``errors`` the error that
    ended either run. A missing value is None.
    """
    runs = Run(found.comparison.first, phrases[0]), Run(found.comparison.second, phrases[1])
    return {
        "pytorch": found.torch.header.pytorch,
        "releases": None if found.releases is None else _of_both(*found.releases),
        "release_reasons": list(release_reasons(found)),
        "same": found.same,
        "compared": {name.replace(" ", "_"): many for name, many in amounts(found).items()},
        "differences": [_difference(*runs, one) for one in found.comparison.divergences],
        "printed_otherwise": None if found.printed is None else _of_both(*found.printed),
        "model_says": [{"line": event.line, "text": event.message} for event in found.warned],
        "errors": _of_both(*map(_error, runs)),
    }


def _difference(first: Run, second: Run, one: Divergence) -> dict[str, Any]:
    steps = (run.number(step) if step is not None else None for run, step in _steps(first, second, one))
    return {
        "lines": lines_of(first, second, one.lines),
        "times": one.times,
        "step": _of_both(*steps),
        "short": said(first, second, one.main).short,
        "text": list(texts(first, second, one)),
    }


def _steps(first: Run, second: Run, one: Divergence) -> tuple[tuple[Run, int | None], tuple[Run, int | None]]:
    return (first, one.main.first), (second, one.main.second)


def _error(run: Run) -> str | None:
    step = raised(run.trace)
    return None if step is None else why_here(run.trace, step)


def _of_both(model: Any, pytorch: Any) -> dict[str, Any]:
    return {"model": model, "pytorch": pytorch}
