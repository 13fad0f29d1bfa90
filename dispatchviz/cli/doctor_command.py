"""``dispatchviz doctor``."""

from __future__ import annotations

import click


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> int:
    """Versions, GPU, renderers, terminal: what works here and why not."""
    import json

    from dispatchviz.doctor import examine

    report = examine()
    if as_json:
        click.echo(json.dumps(report, indent=2))
    else:
        for group, facts in report.items():
            click.echo(group)
            width = max(map(len, facts), default=0)
            for name, fact in facts.items():
                click.echo(f"  {name:<{width}}  {fact}")
    return 0
