"""``dispatchviz why OP KEY`` and ``dispatchviz why --error FILE``. ``diagnose_command.py`` has ``why SCRIPT``."""

from __future__ import annotations

from dispatchviz.cli import lookup as looking_up
from dispatchviz.cli.fast_commands import BUILD, JSON, RELEASE, Argument, Option
from dispatchviz.foundation import pytorch_release

TYPE_CHECKING = False  # not typing's: see dispatchviz/__init__.py
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from dispatchviz.explain.cells.operator_names import Found
    from dispatchviz.explain.cells.releases.entry_history import EntryHistory
    from dispatchviz.explain.cells.releases.release import Release
    from dispatchviz.explain.cells.why_cell import CellAnswer
    from dispatchviz.explain.diagnosis.messages.pasted_text import Explained
    from dispatchviz.views.text.console import Console

    Answer = tuple[Callable[[], Any], Callable[[Console], Iterable[str]]]
    """The functions that return the values for --json, and the lines."""

OPTIONS = (
    Option(
        "error",
        "--error",
        "Explain PyTorch's error messages in FILE; - reads standard input.",
        "FILE",
        complete="files",
    ),
    Option(
        "since",
        "--since",
        "With OP KEY: show in which releases of PyTorch the table entry changed, from "
        f"{pytorch_release.OLDEST} to {pytorch_release.MINOR}.",
    ),
    RELEASE,
    BUILD,
    JSON,
)
ARGUMENTS = (Argument("operator", "OP", "operators"), Argument("keys", "KEY...", "keys", many=True))


def run(as_json: bool, **asked: Any) -> int:
    """Explain why a program fails or silently goes wrong, an error message, or a dispatch table entry.

    With SCRIPT, -c CODE, -m MODULE or TRACE: run the program or read the trace, and print the cause, PyTorch's message
    and what to try. --engine, --cuda, --only, --limit and --save are as in dispatchviz run. The exit status is 1 if the
    program raised, 0 otherwise. The program's output goes to stderr.

    With OP KEY: explain why the operator's dispatch table has its kernel for this key, and what would change it. With
    --since: show in which releases of PyTorch that entry changed.

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
      dispatchviz why ldexp AutogradCPU --since
      dispatchviz why ldexp AutogradCPU --release 2.9
      dispatchviz why --error error.txt
      dispatchviz why examples/errors/second_backward.py
    """
    if as_json:
        looking_up.print_json(_answer(**asked)[0]())
        return 0
    from dispatchviz.views.text.console import terminal

    console = terminal()
    console.print(lines(console, **asked))
    return 0


def lines(console: Console, **asked: Any) -> Iterable[str]:
    """Return the text that the command prints."""
    return _answer(**asked)[1](console)


def _answer(
    error: str | None,
    since: bool,
    release: str | None,
    build: str | None,
    operator: str | None,
    keys: tuple[str, ...],
) -> Answer:
    _check_together(error, since, release)
    if error is not None:
        return _of_messages(error, build, operator)
    if since:
        return _of_histories(operator, keys, build)
    return _of_entries(operator, keys, build, release)


def _check_together(error: str | None, since: bool, release: str | None) -> None:
    """Raise DispatchvizError for options that exclude each other."""
    from dispatchviz.foundation.errors import DispatchvizError

    if error is not None and (since or release is not None):
        raise DispatchvizError(f"{'--since' if since else '--release'} goes with OP KEY, not with --error")
    if since and release is not None:
        raise DispatchvizError("--since compares all releases: leave out --release")


def _of_messages(path: str, build: str | None, operator: str | None) -> Answer:
    from dispatchviz.views.cards.message_text import message_lines, message_values

    found = _explained(path, build, operator)
    return lambda: message_values(found), lambda console: message_lines(found, console)


def _of_histories(operator: str | None, keys: tuple[str, ...], build: str | None) -> Answer:
    from dispatchviz.views.cards.since_text import since_lines

    histories, found, chosen = _histories(operator, keys, build)

    def lines(console: Console) -> Iterator[str]:
        yield from since_lines(histories, chosen, console)
        yield from looking_up.remark_lines(found, console)

    return lambda: {"build": chosen, "histories": histories}, lines


def _of_entries(operator: str | None, keys: tuple[str, ...], build: str | None, release: str | None) -> Answer:
    from dispatchviz.views.cards.why_text import why_lines

    past = looking_up.past_release(release)
    answers, found, chosen = _cell_answers(operator, keys, build, past)
    number = pytorch_release.RELEASE if past is None else past.number

    def lines(console: Console) -> Iterator[str]:
        for place, answer in enumerate(answers):
            yield from [""] * bool(place)
            yield from why_lines(answer, chosen, console, past)
        yield from looking_up.remark_lines(found, console)

    return lambda: {"release": number, "build": chosen, "answers": answers}, lines


def _histories(operator: str | None, keys: tuple[str, ...], build: str | None) -> tuple[list[EntryHistory], Found, str]:
    from dispatchviz.core.table.pytorch_registrations import chosen_build
    from dispatchviz.explain.cells.releases.entry_history import entry_history
    from dispatchviz.explain.cells.releases.release_names import operator_in_any

    found, chosen = operator_in_any(_checked(operator, keys)), chosen_build(build)
    return [entry_history(found.name, key, chosen) for key in keys], found, chosen


def _cell_answers(
    operator: str | None, keys: tuple[str, ...], build: str | None, release: Release | None
) -> tuple[list[CellAnswer], Found, str]:
    typed = _checked(operator, keys)
    registry, chosen = looking_up.registry_of(build, release)
    op, found = looking_up.operator_of(registry, typed, release)
    if release is not None:
        from dispatchviz.explain.cells.releases import release_keys
        from dispatchviz.explain.cells.releases.release_cards import release_entry

        asked = [release_keys.runtime_key(release, key) for key in keys]
        return [release_entry(release, op, chosen, key) for key in asked], found, chosen
    from dispatchviz.explain.cells.why_cell import cell_answer
    from dispatchviz.explain.keys.key_names import runtime_key

    return [cell_answer(op, runtime_key(key), registry) for key in keys], found, chosen


def _checked(operator: str | None, keys: tuple[str, ...]) -> str:
    """Return the operator. Raise DispatchvizError if it or a key is missing, or if the key comes first."""
    from dispatchviz.foundation.errors import DispatchvizError

    if operator is None or not keys:
        raise DispatchvizError(
            "name an operator and a key, such as: dispatchviz why add AutogradCUDA (see dispatchviz why --help)"
        )
    looking_up.check_order("why", operator, keys)
    return operator


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
