"""The cursor on its way through the sub-steps of a key-set card.

A step forward goes to the next one, and after the last to the next step; a step back is its exact opposite.
"""

from __future__ import annotations

from dataclasses import replace

from dispatchviz.explain.calls.key_set_stages import stages_at
from dispatchviz.views.cursor.cursor import Cursor


def walk(cursor: Cursor) -> Cursor:
    """On by a sub-step, of a call that has been looked at by a step."""
    stages = stages_at(cursor.trace, cursor.at)
    follow = [stage for stage in stages if cursor.stage is None or stage > cursor.stage]
    return _at_stage(cursor, follow[0]) if follow else cursor.into()


def walk_back(cursor: Cursor) -> Cursor:
    """Back by one."""
    if cursor.stage is None:
        before = cursor.into_back()
        stages = stages_at(before.trace, before.at) if before.at != cursor.at else ()
        return _at_stage(before, stages[-1]) if stages else before
    earlier = [stage for stage in stages_at(cursor.trace, cursor.at) if stage < cursor.stage]
    return _at_stage(cursor, earlier[-1] if earlier else None)


def _at_stage(cursor: Cursor, stage: int | None) -> Cursor:
    return replace(cursor, stage=stage, follows=False)
