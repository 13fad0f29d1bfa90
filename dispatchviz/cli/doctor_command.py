"""``dispatchviz doctor``."""

from __future__ import annotations

import click

WIDTH = 100
"""Columns of a fact; one that is longer is broken."""


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> int:
    """Versions, GPU, renderers, terminal: what works here and why not."""
    import json
    import textwrap

    from dispatchviz.doctor import examine

    report = examine()
    if as_json:
        click.echo(json.dumps(report, indent=2))
    else:
        for group, facts in report.items():
            click.echo(group)
            width = max(map(len, facts), default=0)
            for name, fact in facts.items():
                lines = textwrap.wrap(str(fact), WIDTH, break_long_words=False, break_on_hyphens=False)
                click.echo(f"  {name:<{width}}  " + f"\n{'':{width + 4}}".join(lines))
    return 0
