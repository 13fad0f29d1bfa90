"""Shell completion of operators, keys, traces and files. Click itself completes options and their values.

``options.py`` and the commands say which parameter uses which function.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from click import Context, Parameter
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

from dispatchviz.foundation.shown_text import shown

OPERATOR_PREFIXES = ("torch.ops.aten.", "aten::", "aten.", "torch.")
"""Ways to write an operator of aten, besides its bare name."""


def operators(context: Context, parameter: Parameter, begun: str) -> list[CompletionItem]:
    """Complete the names of operators in the notation that was begun; overloads once there is a dot."""
    from dispatchviz.core.table.pytorch_registrations import chosen_build
    from dispatchviz.explain.cells.pytorch_tables import pytorch

    prefix = next((each for each in OPERATOR_PREFIXES if begun.startswith(each)), "")
    names = [name.removeprefix("aten::") for name in pytorch(chosen_build(None)).names() if name.startswith("aten::")]
    return _items(_as_begun(names, begun.removeprefix(prefix)), prefix)


def _as_begun(names: Iterable[str], begun: str) -> Iterator[str]:
    shown = names if "." in begun else {name.partition(".")[0] for name in names}
    return (name for name in sorted(shown) if name.startswith(begun))


def keys(context: Context, parameter: Parameter, begun: str) -> list[CompletionItem]:
    """Complete the names of dispatch keys, aliases included."""
    from dispatchviz.explain.keys.key_names import NAMES

    return _items(key.name for name, key in NAMES.items() if name.startswith(begun.lower()))


def releases(context: Context, parameter: Parameter, begun: str) -> list[CompletionItem]:
    """Complete the releases of PyTorch whose registrations are known."""
    from dispatchviz.core.table.past_registrations import known_releases

    return _items(release for release in known_releases() if release.startswith(begun))


def traces(context: Context, parameter: Parameter, begun: str) -> list[CompletionItem]:
    """Complete the names of traces, and of folders that may contain some."""
    return [*_items(_traces(begun)), CompletionItem(begun, "dir")]


def programs(context: Context, parameter: Parameter, begun: str) -> list[CompletionItem]:
    """Complete all files, since a program may have any name, and the shipped examples if no folder here has their
    name.
    """
    return [*_items(_shipped(begun)), *files(context, parameter, begun)]


def _shipped(begun: str) -> list[str]:
    from dispatchviz.foundation.shipped_examples import FOLDER, examples

    if os.path.exists(FOLDER) or not begun:
        return []
    return [script for script in (example.script for example in examples()) if script.startswith(begun)]


def commands(context: Context, parameter: Parameter, begun: str) -> list[CompletionItem]:
    """Complete the names of commands."""
    from dispatchviz.cli.overview import COMMANDS

    return _items(name for name in COMMANDS if name.startswith(begun))


def views(context: Context, parameter: Parameter, begun: str) -> list[CompletionItem]:
    """Complete the names of the views of a step."""
    from dispatchviz.outputs.step.step_text import view_names

    return _items(name for name in view_names() if name.startswith(begun))


def modules(context: Context, parameter: Parameter, begun: str) -> list[CompletionItem]:
    """Complete the modules and packages of the folder, for ``-m``; parts of a package once there is a dot."""
    package, _, name = begun.rpartition(".")
    folder = os.path.join(*package.split("."), "") if package else "."
    return _items(sorted(_modules(folder, name)), f"{package}." if package else "")


def _modules(folder: str, begun: str) -> Iterator[str]:
    try:
        there = os.listdir(folder)
    except OSError:
        return
    for each in there:
        name = each.removesuffix(".py")
        is_module = name != each or os.path.isfile(os.path.join(folder, each, "__init__.py"))
        if is_module and name.startswith(begun) and name.isidentifier() and name != "__init__":
            yield name


def files(context: Context, parameter: Parameter, begun: str) -> list[CompletionItem]:
    """Complete files as the shell does."""
    return [CompletionItem(begun, "file")]


def _traces(begun: str) -> list[str]:
    from dispatchviz.outputs.trace_files import TRACES

    folder, name = os.path.split(begun)  # a shell would split or run a name with control characters
    try:
        there = sorted(os.listdir(folder or "."))
    except OSError:
        return []
    return [
        os.path.join(folder, each)
        for each in there
        if each.startswith(name) and each.endswith(TRACES) and each == shown(each)
    ]


def _items(names: Iterable[str], prefix: str = "") -> list[CompletionItem]:
    return [CompletionItem(prefix + name) for name in names]


# -- bash -------------------------------------------------------------------------------------------------------------


class Bash(BashComplete):
    """Completion for bash, which ends a word at a colon (``aten::ad`` is three words) and does not offer folders."""

    _cut = ""
    """The part of the current word, up to its last ``::``, that bash treats as separate words."""

    source_template = """\
%(complete_func)s() {
    local IFS=$'\\n' type value
    COMPREPLY=()
    while IFS=',' read -r type value; do
        case $type in
            dir) COMPREPLY+=($(compgen -d -- "$value")); compopt -o filenames ;;
            file) COMPREPLY+=($(compgen -f -- "$value")); compopt -o filenames ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD %(complete_var)s=bash_complete "$1")
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the complete words and the current one, with colons where they were typed."""
        words, begun = super().get_completion_args()
        words = joined([*words, begun])
        self._cut = "".join(words[-1].rpartition("::")[:2])
        return words[:-1], words[-1]

    def format_completion(self, item: CompletionItem) -> str:
        """Return the part with which bash replaces its own last word."""
        return f"{item.type},{item.value.removeprefix(self._cut)}"


def joined(words: list[str]) -> list[str]:
    """Join words that bash cut at colons."""
    whole: list[str] = []
    for word in words:
        if whole and (set(word) == {":"} or whole[-1].endswith("::")):
            whole[-1] += word
        else:
            whole.append(word)
    return whole


def register() -> None:
    """Replace click's completion for bash."""
    add_completion_class(Bash)
