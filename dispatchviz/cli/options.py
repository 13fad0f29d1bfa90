"""Options that several commands have."""

from __future__ import annotations

import click

cuda = click.option(
    "--cuda",
    metavar="auto|cupy|emulated",
    type=click.Choice(["auto", "cupy", "emulated"]),
    default="auto",
    help="What cuda is: a GPU through CuPy, or NumPy behind the same keys. auto: the GPU if there is one.",
)
save = click.option("--save", metavar="FILE", help="Also save the trace: .jsonl, or .jsonl.gz to compress it.")
step = click.option("--step", metavar="N", type=int, help="Begin at step N.")
plain = click.option("--plain", is_flag=True, help="Print the text log instead of opening the stepper.")

PROGRAM = {"ignore_unknown_options": True}
"""For commands that end in ``SCRIPT [ARGS...]``: options of ours count wherever they stand, all others are the
script's; after ``--`` everything is."""

script = click.argument("script")
args = click.argument("args", nargs=-1, type=click.UNPROCESSED)
