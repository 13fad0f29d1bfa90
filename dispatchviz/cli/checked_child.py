"""The process of one of the two runs of ``dispatchviz check``. It collects garbage rarely during its imports."""

from __future__ import annotations

from dispatchviz.foundation.garbage_collection import collect_rarely


def main() -> int:
    """Run the request in ``sys.argv``; return 0 if there is a trace."""
    collect_rarely()
    from dispatchviz.cli import checked_run

    return checked_run.main()
