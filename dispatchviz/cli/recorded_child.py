"""The program that runs in front of the program of a new Python, to record it: ``python recorded_child.py CHILD
PROGRAM...`` (``family_runs.py``).

If dispatchviz or PyTorch cannot be loaded here, the program runs as it would without us.
"""

from __future__ import annotations

import os
import sys

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main() -> int:
    """Run the program and return its exit status."""
    if not sys.flags.safe_path:
        del sys.path[0]  # the folder of this file
    encoded, words = sys.argv[1], sys.argv[2:]
    try:
        import dispatchviz  # noqa: F401
    except ImportError:
        sys.path.append(_ROOT)
    try:
        import msgspec

        from dispatchviz.cli.end_by_signal import die
        from dispatchviz.cli.family_runs import Child, run_child, script_in
        from dispatchviz.foundation.errors import DispatchvizError
    except Exception:
        return _run_unrecorded(words)
    child = msgspec.json.decode(encoded, type=Child)
    script, arguments = script_in(words, child)
    sys.path.insert(0, "")  # the program's folder takes this place
    try:
        end = run_child(child, script, arguments)
    except DispatchvizError:  # the program cannot be read: Python says why
        return _run_unrecorded(words)
    if end.signal:
        die(end.signal)
    return end.status


def _run_unrecorded(words: list[str]) -> int:
    options = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv)]
    os.execv(sys.executable, [sys.executable, *options, *words])


if __name__ == "__main__":
    sys.exit(main())
