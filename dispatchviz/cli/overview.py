"""The commands by name, and the texts of the bare command and of ``--help``: what needs no command line library.

``--help`` is answered before click is imported; click's own group takes its help from here, too.
"""

from __future__ import annotations

COMMANDS = {
    "run": "Run SCRIPT on the model and open the stepper.",
    "trace": "Run SCRIPT on the model and print the log.",
    "open": "Open the stepper on a saved trace.",
    "lesson": "Guided lessons: see what happens, guess first; new makes one, check runs them.",
    "serve": "Screens for the browsers of a room: lessons, programs, traces that you name.",
    "diff": "Compare two runs: where they part first, and why; or two snapshots of PyTorch.",
    "check": "Run SCRIPT on the model and on the installed PyTorch: did PyTorch do the same?",
    "export": "Write a picture, a trace, a hand-out or what Perfetto opens, by its suffix.",
    "record-tour": "Play keys in the stepper: a recording for asciinema, pictures; --check tells what is stale.",
    "table": "The dispatch table of an operator.",
    "why": "Why SCRIPT fails or goes wrong; why a cell holds what it holds; --error explains an error.",
    "keys": "The dispatch keys in order; one key; a raw key set taken apart.",
    "codegen": "What the code generators make of an operator: entries, functions, files, calls.",
    "snapshot": "What the installed PyTorch registers, as a file that diff compares.",
    "stack": "The real C++ stack of one call, from an installed PyTorch; a pasted backtrace read.",
    "check-log": "Mark homework: whether saved traces are as a file expects.",
    "doctor": "Versions, GPU, renderers, terminal: what works here and why not.",
    "help": "The help of a command, with examples.",
}
"""Each one's line in ``--help``; the module is ``dispatchviz.cli.<name>_command``, with _ for -, the command in it
``command``."""

OVERVIEW = """\
dispatchviz shows what PyTorch's dispatcher and autograd engine do, one step at a time, forward and back.

  dispatchviz lesson forum                           a guided lesson: why AutogradCUDA runs first; lesson lists all
  dispatchviz run examples/forum.py                  step through a program: → into, ↓ over, Shift goes back
  dispatchviz trace examples/forum.py                the same as a log; --format torch, jsonl
  dispatchviz export examples/forum.py -o graph.svg  a picture of its backward graph
  dispatchviz diff examples/no_grad.py OTHER.py      where two runs part first, and why; --classics for one script
  dispatchviz check examples/mlp.py                  whether the PyTorch installed here does what the model does
  dispatchviz open TRACE                             a trace that was saved with --save
  dispatchviz table add                              an operator's dispatch table, of PyTorch's 3,598
  dispatchviz why SCRIPT                             why it fails or silently goes wrong, and what to try
  dispatchviz why linear PrivateUse1                 why a cell holds what it holds, what would change it
  dispatchviz why --error FILE                       the cause of PyTorch's errors in FILE
  dispatchviz keys AutogradCUDA                      a dispatch key; a raw key set such as 0x1000010002
  dispatchviz codegen add                            the generated code of an operator, and where PyTorch has it
  dispatchviz snapshot -o FILE.json                  what the installed PyTorch registers; diff compares two
  dispatchviz stack add examples/chains/add.py       the real C++ stack of a call, of an installed PyTorch, by gdb
  dispatchviz doctor                                 what works on this machine

A program is a plain PyTorch script: `import torch` in it is the model, no PyTorch is needed.
More: dispatchviz --help"""

HELP = """\
Usage: dispatchviz [OPTIONS] COMMAND [ARGS]...

  See the PyTorch dispatcher and autograd engine at work, one step at a time.
  Without a command: a screen with examples, traces and look-ups.

Options:
  --version   Show the version and exit.
  -h, --help  Show this message and exit.

Commands:
{commands}

More about a command: dispatchviz help COMMAND"""


def help_text() -> str:
    """What ``--help`` prints."""
    width = max(map(len, COMMANDS))
    return HELP.format(commands="\n".join(f"  {name:<{width}}  {line}" for name, line in COMMANDS.items()))


def opens_home(arguments: list[str]) -> bool:
    """Whether this is the bare command in a terminal that can show the home screen."""
    if arguments:
        return False
    from dispatchviz.tui.terminal.support import can_run

    return can_run() is None


def answer(arguments: list[str]) -> str | None:
    """What the bare command, where no screen opens, and ``--help`` print; None for every other command line."""
    if not arguments:
        return OVERVIEW
    return help_text() if arguments in (["--help"], ["-h"]) else None
