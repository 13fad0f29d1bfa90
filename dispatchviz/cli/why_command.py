"""``dispatchviz why OP KEY`` and ``dispatchviz why --error FILE``."""

from __future__ import annotations

from dispatchviz.cli import lookup as looking_up
from dispatchviz.cli.fast_commands import BUILD, JSON, Argument, Option

OPTIONS = (
    Option(
        "error",
        "--error",
        "Explain PyTorch's error message in FILE instead; - reads standard input.",
        "FILE",
        complete="files",
    ),
    BUILD,
    JSON,
)
ARGUMENTS = (Argument("operator", "OP", "operators"), Argument("keys", "KEY...", "keys", many=True))


def run(error: str | None, build: str | None, as_json: bool, operator: str | None, keys: tuple[str, ...]) -> int:
    """Why a cell of an operator's table holds what it holds, and what would change it.

    With --error: what an error message like "Could not run 'aten::...' with arguments from the '...' backend" says. The
    message may be in the middle of other output.

    \b
    Examples:
      dispatchviz why linear PrivateUse1
      dispatchviz why add AutogradCUDA CUDA
      dispatchviz why --error error.txt
    """
    from dispatchviz.errors import DispatchvizError

    if error is not None:
        if operator is not None:
            raise DispatchvizError("--error takes no operator and no key: they are in the message")
        return _explain_error(error, build, as_json)
    if operator is None or not keys:
        raise DispatchvizError(
            "name an operator and a key, such as: dispatchviz why add AutogradCUDA (see dispatchviz why --help)"
        )
    return _explain_cells(operator, keys, build, as_json)


def _explain_cells(operator: str, keys: tuple[str, ...], build: str | None, as_json: bool) -> int:
    from dispatchviz.explain.cells.why_cell import cell_answer
    from dispatchviz.explain.keys.key_names import runtime_key
    from dispatchviz.render.cards.why_text import why_lines
    from dispatchviz.render.console import terminal

    registry, chosen = looking_up.registry_of(build)
    op, found = looking_up.operator_of(registry, operator)
    answers = [cell_answer(op, runtime_key(key), registry) for key in keys]
    if as_json:
        looking_up.print_json({"build": chosen, "answers": answers})
        return 0
    console = terminal()
    for number, answer in enumerate(answers):
        console.print([""] * bool(number) + list(why_lines(answer, chosen, console)))
    if text := looking_up.remark(found):
        console.print(["", *console.wrapped(f"{text}.", 0)])
    return 0


def _explain_error(path: str, build: str | None, as_json: bool) -> int:
    from dispatchviz.explain.errors.error_message import explain
    from dispatchviz.explain.errors.error_parser import read_message
    from dispatchviz.render.cards.error_answer_text import error_lines
    from dispatchviz.render.console import terminal

    registry, _ = looking_up.registry_of(build)
    answer = explain(read_message(path), registry)
    if as_json:
        looking_up.print_json(answer)
        return 0
    console = terminal()
    console.print(error_lines(answer, console))
    return 0
