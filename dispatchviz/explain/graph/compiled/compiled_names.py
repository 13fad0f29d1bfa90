"""The names of compiled functions, regions and graphs."""

from __future__ import annotations

import re

from dispatchviz.core.record import events as ev

_RESUME = re.compile(r"torch_dynamo_resume_in_(.+)_at_(\d+)$")
"""The name that Dynamo gives to the rest of a function (``torch/_dynamo/resume_execution.py``)."""


def function_title(name: str) -> str:
    """``f``; ``the rest of f from line 5`` after a graph break; ``the backward graph`` of an empty name."""
    resumed = _RESUME.search(name)
    return f"the rest of {resumed[1]} from line {resumed[2]}" if resumed else name or "the backward graph"


def region_title(region: int) -> str:
    """``region 0``."""
    return f"region {region}"


def graph_title(graph: ev.GraphCaptured) -> str:
    """``forward graph of region 0``."""
    if graph.stage == "compiled autograd":
        return "graph of compiled autograd"
    name = "Dynamo's graph" if graph.stage == "Dynamo" else f"{graph.stage} graph"
    return f"{name} of {region_title(graph.region)}"


def break_reason(reason: str) -> str:
    """PyTorch's reason for a graph break, without its hints: the title and the explanation."""
    title, _, rest = reason.partition("\n")
    explanation = _EXPLANATION.search(rest)
    if explanation is None:
        return " ".join(reason.split())
    return f"{title.strip()}. {' '.join(explanation[1].split()).rstrip('.')}."


_EXPLANATION = re.compile(r"Explanation: (.*?)(?=\n *(?:Hint|Developer debug context):|\Z)", re.DOTALL)
