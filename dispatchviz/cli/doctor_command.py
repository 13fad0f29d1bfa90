"""``dispatchviz doctor``."""

from __future__ import annotations

import click

WIDTH = 100
"""The columns of a fact; a longer one is wrapped."""


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--unseen", is_flag=True, help="List the facts that a recording of an installed PyTorch lacks.")
def command(as_json: bool, unseen: bool) -> int:
    """Check versions, GPU, renderers and terminal. Show what works here, and why other things do not.

    \b
    Examples:
      dispatchviz doctor
      dispatchviz doctor --json
      dispatchviz doctor --unseen
    """
    import textwrap

    from dispatchviz.cli.doctor import blind_spots, examine
    from dispatchviz.cli.lookup import print_json
    from dispatchviz.foundation.terminal_output import print_lines

    if unseen:
        spots = blind_spots()
        if as_json:
            print_json(spots)
        else:
            print_lines(line for title, facts in spots.items() for line in (title, *(f"  {fact}" for fact in facts)))
        return 0
    report = examine()
    if as_json:
        print_json(report)
        return 0
    for group, facts in report.items():
        width = max(map(len, facts), default=0)
        print_lines([group])
        for name, fact in facts.items():
            first, *rest = textwrap.wrap(str(fact), WIDTH, break_long_words=False, break_on_hyphens=False) or [""]
            print_lines([f"  {name:<{width}}  {first}", *(f"{'':{width + 4}}{part}" for part in rest)])
    return 0
