"""The rights of a reader of a served session: no key writes a file, starts a program or opens another file."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dispatchviz.cli.looked_up import look_up
from dispatchviz.foundation import reader_rights
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.reader_rights import TOUCHES_FILES, permits
from dispatchviz.tui.home.home_keymap import HOME_KEYMAP, home_keys
from dispatchviz.tui.home.home_list import QUESTIONS, Home, program_entries
from dispatchviz.tui.home.home_rows import help_rows, list_places
from dispatchviz.tui.terminal.keymaps import KEYMAPS
from dispatchviz.views import keymap
from dispatchviz.views.keymap import entries
from dispatchviz.views.layout.pane_choice import NO_CHOICE, PaneChoice, pin_note
from dispatchviz.views.session import Session
from tests.tui.random_keys import KEYS, RandomReader
from tests.tui.screens import stepper_of
from tests.tui.synthetic import forum

ROOT = Path(__file__).parents[2]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the reader one without rights, for one test."""
    monkeypatch.setattr(reader_rights._Rights, "has_files", False)


@pytest.fixture(autouse=True)
def default_keys() -> Iterator[None]:
    yield
    keymap.use(None)


class Watch:
    """A record of Python's audit events while it is switched on."""

    looks = False
    seen: list[str] = []  # noqa: RUF012
    OPEN = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

    @classmethod
    def hook(cls, event: str, arguments: tuple[object, ...]) -> None:
        if not cls.looks:
            return
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, str) and (flags & cls.OPEN or not is_ours(path)):  # type: ignore[operator]
                cls.seen.append(f"{path} {flags}")
        elif event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "webbrowser.open"):
            cls.seen.append(event)


def is_ours(path: str) -> bool:
    """Return whether a file belongs to the package, to Python, or to an installed library."""
    roots = (ROOT / "dispatchviz", ROOT / "examples", Path(sys.prefix), Path(sys.base_prefix))
    return path.startswith(("/proc/", "/dev/", "/usr/share/", "/etc/mime", *map(str, roots)))


@pytest.fixture
def watched() -> Iterator[list[str]]:
    if not hasattr(Watch, "installed"):
        sys.addaudithook(Watch.hook)
        Watch.installed = True  # type: ignore[attr-defined]
    Watch.seen = []
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    Watch.looks = True
    yield Watch.seen
    Watch.looks = False
    sys.dont_write_bytecode = before


def test_every_disabled_action_exists() -> None:
    assert set(TOUCHES_FILES) <= {key.action for key in (*keymap.KEYMAP, *HOME_KEYMAP)}


@pytest.mark.parametrize("name", KEYMAPS)
def test_no_keymap_has_a_disabled_action(name: str, served: None) -> None:
    keymap.use(KEYMAPS[name])
    here = {key.action for key in (*entries(), *home_keys())}
    assert here.isdisjoint(TOUCHES_FILES)
    assert here | set(TOUCHES_FILES) == {key.action for key in (*keymap.KEYMAP, *HOME_KEYMAP)}


def test_own_terminal_has_every_action() -> None:
    assert {key.action for key in (*entries(), *home_keys())} >= set(TOUCHES_FILES)


def test_no_text_mentions_a_disabled_key(served: None) -> None:
    note = pin_note(NO_CHOICE, PaneChoice(pinned=(2,)))
    assert note.plain == " This pane stays open. 1 lets the panes follow the step again"
    said = "\n".join(row.plain for row in help_rows())
    assert "run a program of yours" not in said
    assert "that you ran here" not in said
    home = Home(program_entries(()), (), tuple(each for each in QUESTIONS if permits(f"ask({each.target!r})")))
    assert not any("none yet" in place.plain for place in list_places(home) if not isinstance(place, int))


@pytest.mark.parametrize("words", ["--error error.txt", "--error -", "add CUDA --error /etc/passwd"])
def test_a_look_up_reads_no_file(words: str, served: None, watched: list[str]) -> None:
    with pytest.raises(DispatchvizError, match=r"^--error names a file, and files cannot be opened here$"):
        look_up("why", words)
    assert watched == []


def test_a_look_up_writes_no_picture(served: None, watched: list[str]) -> None:
    with pytest.raises(DispatchvizError, match=r"^-o names a file"):
        look_up("codegen", "add --structured -o classes.svg")
    assert watched == []


def test_at_home_too_a_look_up_writes_no_picture() -> None:
    with pytest.raises(DispatchvizError, match=r"^-o works only on the command line"):
        look_up("codegen", "add --structured -o classes.svg")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
async def test_no_key_touches_a_file(seed: int, served: None, watched: list[str]) -> None:
    async with stepper_of(Session(forum(), 0, run_arguments=())) as reader:
        user = RandomReader(reader, random.Random(seed), [*KEYS, *("W", "o", "L", "y") * 3])
        while user.keys < 1500 and not reader.app._exit:
            await user.acts()
    assert watched == []


@pytest.mark.long
async def test_watch_sees_files_that_permitted_keys_touch(
    watched: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above would also pass if nothing were watched."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    async with stepper_of(Session(forum(), 0)) as reader:
        await reader.press("2", "L")
    assert any(str(tmp_path) in seen for seen in watched)
