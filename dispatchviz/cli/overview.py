"""The list of commands, and the texts of the bare command and of ``--help``, without a command line library.

``--help`` is answered before click is imported. Click's own group also takes its help from here.
"""

from __future__ import annotations

COMMANDS = {
    "run": "Run SCRIPT and open the stepper.",
    "trace": "Run SCRIPT and print the log.",
    "open": "Open the stepper on a saved trace.",
    "lesson": "Guided lessons: predict a step, then see it. new creates one, check runs them.",
    "serve": "Serve lessons, programs or traces to a classroom.",
    "diff": "Compare two runs, or two snapshots of PyTorch: where they differ first, and why.",
    "check": "Run SCRIPT on the model and on the installed PyTorch, and compare both.",
    "export": "Write a page, a picture, a trace, a hand-out or a table: the suffix decides.",
    "record-tour": "Record the stepper while keys are pressed: pictures, or a cast for asciinema.",
    "table": "Show the dispatch table of an operator.",
    "why": "Explain why SCRIPT fails or goes wrong, an error message, or a dispatch table entry.",
    "keys": "List the dispatch keys, explain one, or take a raw key set apart.",
    "codegen": "Show the code that PyTorch's generators write for an operator.",
    "snapshot": "Save what the installed PyTorch registers; diff compares two such files.",
    "stack": "Show the C++ stack of a call in the installed PyTorch, or read a pasted backtrace.",
    "check-log": "Grade saved traces against an answer file.",
    "doctor": "Check versions, GPU, renderers and terminal.",
    "help": "Show the help of a command, with examples.",
}
"""Each command's line in ``--help``. Its module is ``dispatchviz.cli.<name>_command``, with _ for -, and has the
command as ``command``.
"""

OVERVIEW = """\
dispatchviz shows what PyTorch's dispatcher and autograd engine do, one step at a time, forward and back.

  dispatchviz lesson forum                           a guided lesson: why AutogradCUDA runs first; lesson lists all
  dispatchviz run examples/forum.py                  step through a program: → in, ↓ over, Shift back
  dispatchviz trace examples/forum.py                the same as a log; --format torch, jsonl
  dispatchviz export examples/forum.py -o graph.svg  a picture of its backward graph
  dispatchviz diff examples/no_grad.py OTHER.py      where two runs differ first, and why
  dispatchviz check examples/mlp.py                  compare the model with the PyTorch installed here
  dispatchviz open TRACE                             open a trace saved with --save
  dispatchviz table add                              the dispatch table of one of 3,607 operators
  dispatchviz why SCRIPT                             why it fails or silently goes wrong, and what to try
  dispatchviz why linear PrivateUse1                 why a dispatch table entry holds its kernel
  dispatchviz why --error FILE                       the cause of PyTorch's errors in FILE
  dispatchviz keys AutogradCUDA                      a dispatch key; a raw key set such as 0x1000010002
  dispatchviz codegen add                            the generated code of an operator
  dispatchviz snapshot -o FILE.json                  save what the installed PyTorch registers
  dispatchviz stack add examples/chains/add.py       the C++ stack of a call in the installed PyTorch
  dispatchviz doctor                                 what works on this machine

A program is a plain PyTorch script. In it `import torch` gives the model; PyTorch is not needed.
More: dispatchviz --help"""

HELP = """\
Usage: dispatchviz [OPTIONS] COMMAND [ARGS]...

  See the PyTorch dispatcher and autograd engine at work, one step at a time.
  Without a command: the home screen, with lessons, examples and traces.

Options:
  --version   Show the version and exit.
  -h, --help  Show this message and exit.

Commands:
{commands}

More about a command: dispatchviz help COMMAND"""


def help_text() -> str:
    """Return the text that ``--help`` prints."""
    width = max(map(len, COMMANDS))
    return HELP.format(commands="\n".join(f"  {name:<{width}}  {line}" for name, line in COMMANDS.items()))


def opens_home(arguments: list[str]) -> bool:
    """Return whether this is the bare command in a terminal that can show the home screen."""
    if arguments:
        return False
    from dispatchviz.tui.terminal.support import can_run

    return can_run() is None


def answer(arguments: list[str]) -> str | None:
    """Return the text for the bare command without a screen, and for ``--help``; None for every other command line."""
    if not arguments:
        return OVERVIEW
    return help_text() if arguments in (["--help"], ["-h"]) else None
