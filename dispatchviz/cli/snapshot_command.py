"""``dispatchviz snapshot [-o FILE]``."""

from __future__ import annotations

import click

from dispatchviz.cli import completion


@click.command("snapshot")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    shell_complete=completion.files,
    help="Write the snapshot: .json, or .json.gz to compress it; - is standard output. Only a snapshot is overwritten.",
)
def command(output: str | None) -> int:
    """Save what the installed PyTorch registers: its operators, kernels, fallbacks and dispatch keys.

    Without -o, print a summary. The file is JSON with a line for each operator: its schema, and for every kernel its
    key, its kind and where it is registered, newest first under each key. The kinds are unboxed (a C++ function),
    sym_unboxed (one with SymInt in its signature), boxed (called on the stack, as Python kernels are) and fallthrough.

    This reads the PyTorch (2.6 or later) that is installed in the same environment; no program runs on it. dispatchviz
    diff compares two snapshots, even where there is no PyTorch.

    \b
    Examples:
      dispatchviz snapshot
      dispatchviz snapshot -o pytorch.json
      dispatchviz snapshot -o pytorch.json.gz
    """
    from dispatchviz.foundation.terminal_output import print_json_lines
    from dispatchviz.live.snapshot import from_installed, snapshot_text, write_snapshot
    from dispatchviz.outputs.written_files import STANDARD_OUTPUT
    from dispatchviz.views.cards.difference_text import summary_lines
    from dispatchviz.views.text.console import terminal

    if output is not None:
        check_snapshot(output)
    from dispatchviz.live.installed_registrations import InstalledPyTorch

    snapshot = from_installed(InstalledPyTorch())
    if output == STANDARD_OUTPUT:
        print_json_lines(snapshot_text(snapshot).splitlines())
        return 0
    console = terminal()
    if output is not None:
        write_snapshot(snapshot, output)
        console.print([f"{output}: {snapshot.title}, {len(snapshot.operators):,} operators"])
    else:
        console.print(summary_lines(snapshot, console))
    return 0


def check_snapshot(path: str) -> None:
    """Raise DispatchvizError if a snapshot cannot be written there, or would replace another kind of file."""
    from dispatchviz.foundation.errors import DispatchvizError
    from dispatchviz.live.snapshot_file import SNAPSHOTS, looks_like_snapshot
    from dispatchviz.outputs.format import either
    from dispatchviz.outputs.written_files import STANDARD_OUTPUT, check_place

    if path != STANDARD_OUTPUT:
        if not path.lower().endswith(SNAPSHOTS):
            raise DispatchvizError(f"cannot write the snapshot as {path}: its name must end in {either(SNAPSHOTS)}")
        check_place(path, "snapshot", looks_like_snapshot)
