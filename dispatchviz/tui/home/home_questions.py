"""The questions of the home screen: a filter, a file, the argument of a command."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from msgspec.structs import replace

from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.shown_text import shown
from dispatchviz.tui.home.home_list import Home
from dispatchviz.tui.home.home_replies import Chosen, LookUp, Refused, Reply, Shown
from dispatchviz.tui.home.preview import HINTS
from dispatchviz.tui.home.text_screen import Text
from dispatchviz.tui.questions.asked import Asked
from dispatchviz.views.text.console import WIDEST, Console
from dispatchviz.views.text.marked_console import MarkedConsole, spans
from dispatchviz.views.text.styled_line import Line, line


class HomeQuestion(Asked[Reply]):
    """A question that leaves the screen unchanged if it is not answered."""

    def __init__(self, home: Home, label: str, hint: str) -> None:
        self.home, self.label, self._hint = replace(home, note=None), label, hint

    @property
    def hint(self) -> str:
        return self._hint

    def opened(self) -> Reply:
        return Shown(self.home)


class FilterQuestion(HomeQuestion):
    """The question for a filter, which is applied while it is typed."""

    def __init__(self, home: Home) -> None:
        super().__init__(home, "Filter", "words that a row contains: vmap, in place, gradient ...")

    def opened(self) -> Reply:
        return self.typed("")

    def typed(self, text: str) -> Reply:
        return Shown(self.home.filtered(text))

    def answered(self, text: str | None) -> Reply:
        return Shown(self.home) if text is None else self.typed(text)


class LookUpQuestion(HomeQuestion):
    """The question for the argument of a command, as on the command line."""

    def __init__(self, home: Home, command: str, look_up: LookUp) -> None:
        super().__init__(home, f"dispatchviz {command}", HINTS[command])
        self._command, self._look_up = command, look_up

    def answered(self, text: str | None) -> Reply:
        if text is None:
            return Shown(self.home)
        try:
            lines = self._look_up(self._command, text)
        except DispatchvizError as error:
            return Refused(self.home.noted(str(error), "error"), self, text)
        return Text(f"dispatchviz {self._command} {text}".rstrip(), partial(console_rows, lines))


def console_rows(lines: Callable[[Console], Iterable[str]], width: int) -> list[Line]:
    """The output of a command, at a width."""
    return [line(*spans(text)) for text in lines(MarkedConsole(min(width, WIDEST)))]


class FileQuestion(HomeQuestion):
    """The question for the path of a program or a trace; Tab completes names."""

    def __init__(self, home: Home) -> None:
        super().__init__(home, "Run or open", HINTS["run"])

    def opened(self) -> Reply:
        return self.typed("")

    def typed(self, text: str) -> Reply:
        return Shown(replace(self.home, note=_listed(paths(text))))

    def completed(self, text: str) -> str:
        return common_beginning(paths(text)) or text

    def answered(self, text: str | None) -> Reply:
        if not text:
            return Shown(self.home)
        path = os.path.expanduser(text)
        if not os.path.isfile(path):
            return Refused(self.home.noted(_no_file(path), "error"), self, text)
        return Chosen(path)


def _no_file(path: str) -> str:
    if os.path.isdir(path):
        return f"{path} is a folder. Name a file in it"
    return f"{path} is not a file" if os.path.exists(path) else f"there is no file {path}"


def common_beginning(texts: Sequence[str]) -> str:
    """The common prefix of some texts."""
    first, last = min(texts, default=""), max(texts, default="")
    same = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return first[:same]


def paths(begun: str) -> list[str]:
    """The files and folders that complete a path, as they would be typed. Hidden ones are listed only if the name
    begins with a dot.
    """
    folder, name = os.path.split(begun)
    try:
        with os.scandir(os.path.expanduser(folder) or ".") as there:
            found = [f"{entry.name}{os.sep if entry.is_dir() else ''}" for entry in there]
    except OSError:
        return []
    visible = (each for each in found if each == shown(each) and (name.startswith(".") or not each.startswith(".")))
    return [os.path.join(folder, each) for each in sorted(visible) if each.startswith(name)]


def _listed(found: Iterable[str]) -> Line:
    """The names of some paths in one row, as many as fit."""
    names = [os.path.basename(path.rstrip(os.sep)) + (os.sep if path.endswith(os.sep) else "") for path in found]
    return line((f" {'  '.join(names[:MOST])}" if names else " no such file", "hint"), cut=True)


MOST = 40
"""The maximum number of names in the row, which is cut where it does not fit."""
