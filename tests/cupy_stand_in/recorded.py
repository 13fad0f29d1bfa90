"""The recorded facts about an installed CuPy, and checks of calls against them."""

from __future__ import annotations

from typing import Any

from truth import records

RECORDED: dict[str, Any] = records.read("cupy")


def check_call(name: str, parameters: list[str] | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise TypeError for an argument that CuPy's function does not have. Functions with unknown parameters take
    anything.
    """
    if parameters is None:
        return
    several = [each for each in parameters if each.startswith("*")]
    if len(args) > len(parameters) and not several:
        raise TypeError(f"cupy.{name} takes {len(parameters)} arguments, {len(args)} were given")
    unknown = set(kwargs) - set(parameters)
    if unknown and "**kwargs" not in several:
        raise TypeError(f"cupy.{name} has no argument {', '.join(sorted(unknown))}")
