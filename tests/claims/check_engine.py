"""Asks PyTorch what the engine did."""

from __future__ import annotations

from dispatchviz.explain.claims import NodeRuns
from tests.claims.asking import Answer, Question, asks, difference


@asks(NodeRuns)
def node_runs(claim: NodeRuns, question: Question) -> Answer:
    """By a hook on every Node that can be reached. After an error nobody knows what would have run."""
    found = question.in_pass(claim.graph_task, claim.node)
    if found is None or question.pytorch.run.error is not None:
        return None
    engine_pass, place = found
    return difference(claim.runs, place in engine_pass.ran)
