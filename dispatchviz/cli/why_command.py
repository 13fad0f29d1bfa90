"""``dispatchviz why OP KEY`` and ``dispatchviz why --error FILE``. ``diagnose_command.py`` has ``why SCRIPT``."""

from __future__ import annotations

from dispatchviz.cli import lookup as looking_up
from dispatchviz.cli.fast_commands import BUILD, JSON, Argument, Option

TYPE_CHECKING = False  # not typing's: see dispatchviz/__init__.py
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dispatchviz.explain.cells.operator_names import Found
    from dispatchviz.explain.cells.why_cell import CellAnswer
    from dispatchviz.explain.diagnosis.messages.pasted_text import Explained
    from dispatchviz.views.text.console import Console

OPTIONS = (
    Option(
        "error",
        "--error",
        "Explain PyTorch's error messages in FILE; - reads standard input.",
        "FILE",
        complete="files",
    ),
    BUILD,
    JSON,
)
ARGUMENTS = (Argument("operator", "OP", "operators"), Argument("keys", "KEY...", "keys", many=True))


def run(error: str | None, build: str | None, as_json: bool, operator: str | None, keys: tuple[str, ...]) -> int:
    """Explain why a program fails or silently goes wrong, an error message, or a dispatch table entry.

    With SCRIPT, -c CODE, -m MODULE or TRACE: run the program or read the trace, and print the cause, PyTorch's message
    and what to try. --engine, --cuda, --only, --limit and --save are as in dispatchviz run. The exit status is 1 if the
    program raised, 0 otherwise. The program's output goes to stderr.

    With OP KEY: explain why the operator's dispatch table has its kernel for this key, and what would change it.

    With --error: print the cause of each of PyTorch's error messages in FILE, and what to try. A message may be in the
    middle of a traceback or a log. docs/lists/messages.md lists the known messages.

    \b
    Examples:
      dispatchviz why examples/forum.py
      dispatchviz why --engine torch examples/mlp.py
      dispatchviz why -c "import torch; torch.ones(2).sum().backward()"
      dispatchviz why --call add --line 6 examples/forum.py
      dispatchviz why linear PrivateUse1
      dispatchviz why add AutogradCUDA CUDA
      dispatchviz why --error error.txt
      dispatchviz why examples/errors/second_backward.py
    """
    if as_json:
        looking_up.print_json(_json(error, build, operator, keys))
        return 0
    from dispatchviz.views.text.console import terminal

    console = terminal()
    console.print(lines(console, error, build, operator, keys))
    return 0


def lines(
    console: Console, error: str | None, build: str | None, operator: str | None, keys: tuple[str, ...]
) -> Iterator[str]:
    """Yield the text that the command prints."""
    if error is not None:
        from dispatchviz.views.cards.message_text import message_lines

        yield from message_lines(_explained(error, build, operator), console)
        return
    from dispatchviz.views.cards.why_text import why_lines

    answers, found, chosen = _cell_answers(operator, keys, build)
    for number, answer in enumerate(answers):
        yield from [""] * bool(number)
        yield from why_lines(answer, chosen, console)
    yield from looking_up.remark_lines(found, console)


def _json(error: str | None, build: str | None, operator: str | None, keys: tuple[str, ...]) -> Any:
    if error is not None:
        from dispatchviz.views.cards.message_text import message_values

        return message_values(_explained(error, build, operator))
    answers, _, chosen = _cell_answers(operator, keys, build)
    return {"build": chosen, "answers": answers}


def _cell_answers(
    operator: str | None, keys: tuple[str, ...], build: str | None
) -> tuple[list[CellAnswer], Found, str]:
    from dispatchviz.explain.cells.why_cell import cell_answer
    from dispatchviz.explain.keys.key_names import runtime_key
    from dispatchviz.foundation.errors import DispatchvizError

    if operator is None or not keys:
        raise DispatchvizError(
            "name an operator and a key, such as: dispatchviz why add AutogradCUDA (see dispatchviz why --help)"
        )
    looking_up.check_order("why", operator, keys)
    registry, chosen = looking_up.registry_of(build)
    op, found = looking_up.operator_of(registry, operator)
    return [cell_answer(op, runtime_key(key), registry) for key in keys], found, chosen


def _explained(path: str, build: str | None, operator: str | None) -> list[Explained]:
    from dispatchviz.explain.diagnosis.messages.pasted_text import explained
    from dispatchviz.foundation.errors import DispatchvizError

    if operator is not None:
        raise DispatchvizError("--error takes no operator and no key: they are in the message")
    registry, _ = looking_up.registry_of(build)
    return explained(_read(path), "standard input" if path == "-" else path, registry)


def _read(path: str) -> str:
    """Return the text of a file; ``-`` is standard input. Raise DispatchvizError if it cannot be read."""
    import sys
    from pathlib import Path

    from dispatchviz.foundation.errors import DispatchvizError

    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise DispatchvizError(f"cannot read {path}: {error.strerror}") from None
