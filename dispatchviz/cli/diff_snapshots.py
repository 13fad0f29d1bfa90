"""``diff`` of two snapshots of PyTorch's registrations."""

from __future__ import annotations

import os
from collections.abc import Sequence

from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.live.snapshot_file import looks_like_snapshot
from dispatchviz.outputs.written_files import BEGINNING

DIFFERENT = 1
"""The exit status if two snapshots differ."""


def are_snapshots(sources: Sequence[str]) -> bool:
    """Return whether the files are snapshots, by their content. Raise DispatchvizError if only some are, or there are
    not two.
    """
    found = [_is_snapshot(source) for source in sources]
    if any(found) and not all(found):
        one, other = (sources[found.index(kind)] for kind in (True, False))
        raise DispatchvizError(f"{one} is a snapshot, but {other} is not: diff compares two snapshots or two runs")
    if any(found) and len(sources) != 2:
        raise DispatchvizError(
            f"diff compares two snapshots, A and B; {len(sources)} {'was' if len(sources) == 1 else 'were'} given"
        )
    return any(found)


def _is_snapshot(source: str) -> bool:
    if not os.path.isfile(source):
        return False
    try:
        with open(source, "rb") as stream:
            return looks_like_snapshot(stream.read(BEGINNING))
    except OSError:  # reading it will report this
        return False


def compared(sources: Sequence[str], operator: str | None, every: bool, as_json: bool) -> int:
    """Print the differences, of all operators or of one name; return the exit status."""
    import msgspec

    from dispatchviz.foundation.terminal_output import print_json_lines
    from dispatchviz.live.snapshot import read_snapshot
    from dispatchviz.live.snapshot_difference import difference, of_operators
    from dispatchviz.views.cards.difference_text import difference_lines, operator_lines
    from dispatchviz.views.text.console import terminal

    before, after = map(read_snapshot, sources)
    found = difference(before, after, every)
    names = None if operator is None else names_of(operator, [*before.by_name | after.by_name])
    if names is not None:
        found = of_operators(found, names)
    if as_json:
        print_json_lines([msgspec.json.encode(found).decode()])
        return 0 if found.same else DIFFERENT
    console = terminal()
    if names is None:
        console.print(difference_lines(found, console, every))
    else:
        console.print(operator_lines(names, before, after, found, console))
    return 0 if found.same else DIFFERENT


def names_of(typed: str, every: Sequence[str]) -> list[str]:
    """Return all overloads of a name (``add``, ``aten::add``), or one of them (``aten.add.Tensor``). Raise
    DispatchvizError if neither snapshot has it.
    """
    asked = typed.removeprefix("torch.ops.").removeprefix("torch.")
    namespace, _, rest = asked.replace("::", ".").partition(".")
    wanted = {asked, f"aten::{asked}", f"{namespace}::{rest}"}
    exact = [name for name in every if name in wanted and "." in name]
    found = exact or [name for name in every if name.partition(".")[0] in wanted]
    if not found:
        raise DispatchvizError(f"neither snapshot has an operator {typed}{_meant(typed, every)}")
    return found


def _meant(typed: str, known: Sequence[str]) -> str:
    import difflib

    close = difflib.get_close_matches(typed if "::" in typed else f"aten::{typed}", known, 1)
    return f", did you mean {close[0]}?" if close else ""
