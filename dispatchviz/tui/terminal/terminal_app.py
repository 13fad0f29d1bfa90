"""The common base of the applications: one screen on a terminal, keys in order, and an end with a reason.

Elsewhere: the actions of keys (``keymap.py``, ``home/home_keymap.py``), the screens (``app.py``, ``home/home_app.py``).
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard, TypeVar

from rich.console import RenderableType
from textual import events
from textual.app import App, ScreenStackError, SystemCommand
from textual.command import CommandPalette, DiscoveryHit, Hits
from textual.css.query import NoMatches
from textual.filter import LineFilter
from textual.message import Message
from textual.screen import Screen
from textual.system_commands import SystemCommandsProvider
from textual.theme import Theme, ThemeProvider
from textual.widget import AwaitMount, Widget
from textual.worker import WorkerFailed

from dispatchviz.foundation.garbage_collection import (
    collect_as_usual,
    collect_at_any_time,
    collect_by_clock,
    collect_if_due,
)
from dispatchviz.tui.terminal import support
from dispatchviz.tui.terminal.ending import StepperError, ended_by_signals, failure
from dispatchviz.tui.terminal.kept_theme import read_theme, write_theme
from dispatchviz.tui.terminal.palette import Readable, Uncolored
from dispatchviz.tui.widgets.typed_keys import TYPED_AHEAD, TypedKeys
from dispatchviz.views.keymap import Key

if TYPE_CHECKING:
    from dispatchviz.tui.widgets.prompt import Prompt

Result = TypeVar("Result")
"""The type of the application's result."""


READABLE, UNCOLORED = Readable(), [Uncolored()]
"""The filters of all lines. Textual keeps a filtered line with its filter, so they are made once."""

COLLECTS = 0.5
"""The seconds between two looks whether garbage must be collected. A collection takes as long as there are objects
since the last one.
"""

IDLE = 10.0
"""The seconds without a key or click after which a collection may take longer."""


class Ready(Message):
    """The message that the first screen is shown and keys can be handled."""


class Found(Message):
    """The message of a thread to the application, which calls ``show`` in its own thread."""

    def __init__(self, show: Callable[[], object]) -> None:
        super().__init__()
        self.show = show


class View(Screen[None]):
    """The screen of an application, over which others may open."""

    prompt: Prompt | None = None
    """The input line; it exists once keys can be handled."""

    async def make_prompt(self, home: Widget) -> None:
        """Create the input line, so that keys are handled. If it were created by a key, it would miss the next key.
        ``home`` gets the focus after a question that was asked while no widget had it.
        """
        from dispatchviz.tui.widgets.prompt import Prompt  # not needed for the first paint

        prompt = Prompt(home)
        await self.mount(prompt)
        self.prompt = prompt
        self.post_message(Ready())

    def use_theme(self, theme: Theme | None = None) -> None:
        """Paint everything in the colors of the application's theme."""


class InOrder(SystemCommandsProvider):
    """The command palette before anything is typed: the groups are in the order of the keymap, not of the alphabet."""

    async def discover(self) -> Hits:
        for name, text, callback, _ in self.app.get_system_commands(self.screen):
            yield DiscoveryHit(name, callback, help=text)


class KeptThemes(ThemeProvider):
    """The themes in the palette; the chosen one is stored. Themes with the terminal's own colors are left out, since
    their contrast is unknown.
    """

    @property
    def commands(self) -> list[tuple[str, Callable[[], None]]]:
        app = self.app
        assert isinstance(app, TerminalApp)
        names = sorted(name for name in app.available_themes if not name.startswith("ansi-"))
        return [(name, partial(app.keep_theme, name)) for name in names]


class TerminalApp(App[Result]):
    """An application that shows one ``View``, and runs an action for each key of a keymap."""

    TITLE = "dispatchviz"
    COMMANDS: ClassVar = {InOrder}

    def __init__(self, view: View, keymap: Iterable[Key]) -> None:
        super().__init__(driver_class=support.driver())
        self.failed: StepperError | None = None
        """The error that closed the screen, if it was a bug of ours."""
        self._view, self._entries = view, tuple(keymap)
        self._touched = time.monotonic()
        """The time of the last key or click."""
        self._loop_of_keys: asyncio.AbstractEventLoop | None = None
        self._typed_behind: list[events.Key | events.Paste] = []
        """The keys after the one that ended it, as far as they reached it."""
        self._typed_late: list[events.Key | events.Paste] = []
        """The keys that arrived when it no longer accepted messages."""
        self._keys = TypedKeys(lambda: view.prompt, self.run_key_action, self.key_actions())

    @property
    def what_failed(self) -> str:
        """The beginning of the line that reports a bug: ``the stepper failed at step 3``."""
        raise NotImplementedError

    async def run_key_action(self, action: str) -> bool:
        """Run an action of the keymap."""
        raise NotImplementedError

    def use_keys(self, keymap: Iterable[Key]) -> None:
        """Use another keymap."""
        self._entries = tuple(keymap)
        self._keys.bind(self.key_actions())

    def key_actions(self) -> Mapping[str, str]:
        """The action of each key."""
        return actions_of(self._entries)

    def before_key(self, event: events.Key | events.Paste) -> bool:
        """Handle input before it has its effect. Return True if nothing is left to do."""
        return False

    def post_message(self, message: Message) -> bool:
        """Post a message as usual, but store input that arrives when no message is accepted any more."""
        taken = super().post_message(message)
        if not taken and self._exit and _is_typed(message):
            self._typed_late.append(message)
        return taken

    def typed_behind(self) -> list[events.Key | events.Paste]:
        """The input after the key that ended it, in order, for the next application."""
        queue: asyncio.Queue[Message | None] = self._message_queue
        met = self._typed_behind
        left = [queue.get_nowait() for _ in range(queue.qsize())]
        return [*met, *filter(_is_typed, left), *self._typed_late]

    def type_first(self, typed: Iterable[events.Key | events.Paste]) -> None:
        """Handle input that was typed before the application started."""
        for event in typed:
            self._keys.hold(as_typed(event))

    def get_default_screen(self) -> Screen[None]:
        return self._view

    def on_mount(self) -> None:
        self._loop_of_keys = asyncio.get_running_loop()
        self.app_resume_signal.subscribe(self, self._repaint)
        self.theme_changed_signal.subscribe(self, self._view.use_theme)
        self.set_interval(COLLECTS, lambda: collect_if_due(time.monotonic() - self._touched > IDLE))
        if support.is_there():
            self.set_interval(1, support.end_if_gone)  # otherwise its input would be read forever, at full speed

    def on_unmount(self) -> None:
        collect_at_any_time()

    def use_kept_theme(self) -> None:
        """Use the theme that the reader chose last."""
        if (name := read_theme()) in self.available_themes:
            self.theme = name

    def search_themes(self) -> None:
        """List the themes. The reader's choice is stored."""
        self.push_screen(CommandPalette([KeptThemes], placeholder="Search for themes"))

    def keep_theme(self, name: str) -> None:
        """Use a theme and store it."""
        self.theme = name
        if why_not := write_theme(name):
            self.notify(f"The theme is not saved: {why_not}", severity="warning")

    def end_soon(self) -> None:
        """Close the screen when the current work is done. It may be called at any time."""
        if self._loop_of_keys is not None:
            self._loop_of_keys.call_soon_threadsafe(self.exit)

    def _repaint(self, _: object) -> None:
        """Paint everything again, since other programs may have written on the terminal while the process was
        stopped.
        """
        self.refresh(layout=True)

    def panic(self, *renderables: RenderableType) -> None:
        self._note_failure(RuntimeError("the terminal cannot be read"))
        super().panic(*renderables)

    def _handle_exception(self, error: Exception) -> None:
        """Write the traceback to a file. Textual would print it with all values, page after page."""
        if not self._came_too_late(error):
            self._note_failure(error)
            super()._handle_exception(error)

    def _came_too_late(self, error: Exception) -> bool:
        """Return whether a key or a palette command came after its screen had closed."""
        if isinstance(error, WorkerFailed):
            palette = self.screen_stack and isinstance(self.screen, CommandPalette)
            return isinstance(error.error, NoMatches) and not palette
        return isinstance(error, ScreenStackError) and len(self.screen_stack) <= 1

    def _print_error_renderables(self) -> None:
        """Print nothing, since the caller reports the error."""

    def _note_failure(self, error: Exception) -> None:
        if self.failed is None:
            report = "".join(traceback.format_exception(error))
            self.failed = failure(error, report, self.what_failed)

    def get_line_filters(self) -> Sequence[LineFilter]:
        return UNCOLORED if self.no_color else [*super().get_line_filters(), READABLE]

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        yield from palette_commands(self._entries, self.run_key_action)
        yield SystemCommand("Colors: choose a theme", "", self.action_change_theme)

    async def on_event(self, event: events.Event) -> None:
        """Pass keys and pastes on the view to ``TypedKeys`` first. Textual gets everything else, and keys that are
        unknown there.
        """
        if isinstance(event, events.InputEvent):
            self._touched = time.monotonic()
        if isinstance(event, events.InputEvent) and (self._exit or not self.screen_stack):
            if _is_typed(event):
                self._typed_behind.append(event)  # no screen is left to receive it
            return
        if isinstance(event, events.Key) and event.key == TYPED_AHEAD and not event.is_forwarded:
            event = events.Key("enter", "\r")
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
        elif not self._keys.hold(event):
            await self.on_ready()
            await self._take(event)

    async def _take(self, event: events.Key | events.Paste) -> None:
        """Handle input on the view, or on the screen that is now over it."""
        if self.screen is self._view:
            if self.before_key(event) or await self._keys.take(event):
                return
        elif not self.screen.is_mounted:  # until then, Textual drops its input
            await AwaitMount(self.screen, [self.screen])
        await super().on_event(event)

    def from_thread(self, show: Callable[[], object]) -> None:
        """Call a function in the application's own thread, unless the reader has quit. This does not wait for it."""
        with suppress(RuntimeError):  # its loop is closed
            self.post_message(Found(show))

    def on_found(self, message: Found) -> None:
        message.show()

    async def on_ready(self) -> None:
        """Handle the keys that were typed before the first screen was complete, before all later ones."""
        collect_as_usual()
        collect_by_clock()
        for event in self._keys.release():
            await self.on_event(event)


def actions_of(keymap: Iterable[Key]) -> Mapping[str, str]:
    """The action of each key."""
    return {key: entry.action for entry in keymap for key in entry.keys}


def palette_commands(keymap: Iterable[Key], run: Callable[[str], Awaitable[bool]]) -> Iterator[SystemCommand]:
    """Yield every action of a keymap as ``group: description``."""
    for key in keymap:
        if key.action != "app.command_palette":
            yield SystemCommand(f"{key.group}: {key.help}", key.shown, partial(run, key.action))


def _is_typed(message: object) -> TypeGuard[events.Key | events.Paste]:
    return isinstance(message, events.Key | events.Paste) and not message.is_forwarded


def as_typed(event: events.Key | events.Paste) -> events.Key | events.Paste:
    """Copy a key or a paste for another application."""
    return events.Key(event.key, event.character) if isinstance(event, events.Key) else events.Paste(event.text)


_typed_ahead: list[events.Key | events.Paste] = []
"""The input after the end of an application, for the next one, since there is one keyboard."""


def run_to_its_end(app: TerminalApp[Any]) -> None:
    """Run an application until the reader is done. Raise StepperError if it fails, EndedBySignal if a signal ends
    it.
    """
    app.use_kept_theme()
    app.type_first(_typed_ahead)
    _typed_ahead.clear()
    try:
        with ended_by_signals(app.end_soon):
            app.run()
    finally:
        collect_as_usual()
    if app.failed is not None:
        raise app.failed
    _typed_ahead.extend(app.typed_behind())
