"""The engine of a command that runs a program, and the command to type if a program needs another one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dispatchviz.cli.input_source import standard_input
from dispatchviz.cli.typed_command import command_with
from dispatchviz.foundation.shipped_examples import located
from dispatchviz.foundation.terminal_output import complain
from dispatchviz.running.engine_choice.choice import Choice, NeedsTorchError, automatic_choice
from dispatchviz.running.engine_choice.installed_release import installed_release
from dispatchviz.running.engine_choice.requested_engine import RequestedEngine, requested_engine
from dispatchviz.running.program_source import STANDARD_INPUT, Script, read_source

if TYPE_CHECKING:
    from dispatchviz.explain.diagnosis.diagnosis import Diagnosis


def chosen_engine(
    option: RequestedEngine | None, script: Script, cuda: str = "auto", arguments: Sequence[str] = ()
) -> Choice:
    """Return the engine for a program. ``option`` is the value of ``--engine``, None if it is not given.

    Raise DispatchvizError if the program cannot be read, if a setting names no engine, or if the program needs an
    installed PyTorch and cannot have it.
    """
    if isinstance(script, str) and script != STANDARD_INPUT and _is_read_once(located(script)):
        wanted = requested_engine(option, os.path.dirname(os.path.abspath(script)))
        return Choice("model" if wanted == "auto" else wanted)
    program = read_source(script, standard_input() if script == STANDARD_INPUT else b"")
    wanted = requested_engine(option, program.folder)
    if wanted != "auto":
        return Choice(wanted)
    try:
        return automatic_choice(program, "" if cuda == "auto" else f"--cuda {cuda}", arguments=arguments)
    except NeedsTorchError as error:
        raise NeedsTorchError(f"{error}{_partly()}") from None


def announced(choice: Choice) -> Choice:
    """Print why the engine was chosen, for a command whose output does not begin with it; return the choice."""
    if choice.reason:
        complain(choice.reason)
    return choice


def _is_read_once(path: str) -> bool:
    """Return whether a file is a pipe, which only the program itself may read."""
    return os.path.exists(path) and not os.path.isfile(path)


def _partly() -> str:
    """Return the end of an error, with the command that runs the program on the model as far as it goes."""
    command = command_with("model")
    return f". To run it on the model up to that line: {command}" if command else ""


def with_command(found: Diagnosis) -> Diagnosis:
    """Return a diagnosis. One of a name that the model lacks gets the command to type."""
    from dispatchviz.explain.diagnosis.call_errors.not_modelled import NOT_IN_THE_MODEL

    command = command_with("torch")
    if found.kind != NOT_IN_THE_MODEL or not command:
        return found
    return found._replace(fixes=(f"Record it on {_where_to_install()}: {command}",))


def _where_to_install() -> str:
    installed = installed_release()
    if installed is None:
        return "an installed PyTorch (pip install torch)"
    upgrade = "" if installed.recordable else ", after pip install --upgrade torch"
    return f"the installed PyTorch {installed.number}{upgrade}"
