"""What if: the list of changes at a step, or why there is none."""

from __future__ import annotations

from dispatchviz.explain.comparison.what_if.changed_request import changed_request
from dispatchviz.explain.comparison.what_if.offered_changes import Offered, offered_changes
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import line


def offered(session: Session) -> list[Offered] | Update:
    """The changes that may be tried at the step of the cursor; a remark if none can."""
    if session.followed is not None and not session.followed.over:
        return _no(session, "the program is still running")
    try:
        found = offered_changes(session.trace, session.cursor.at)
        if found:
            changed_request(session.trace, found[0].change, "", session.run_arguments)
    except DispatchvizError as error:
        return _no(session, str(error))
    return found or _no(session, "nothing on this line can be changed")


def _no(session: Session, why: str) -> Update:
    return Update(session.cursor, line((f" No what if here: {why}", "hint")))
