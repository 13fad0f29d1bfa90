"""``t``: Python's traceback over the stepper."""

from __future__ import annotations

from tests.explain.programs import traced

from .screens import Reader, read


def test_the_traceback_is_a_key_away_from_the_error() -> None:
    async def story(reader: Reader) -> None:
        assert reader.sees("stopped here with an error: S back  t traceback")
        await reader.press("t")
        assert reader.sees("Traceback (most recent call last):", "line 3, in <module>", "x + torch.ones(3)")
        assert reader.sees("RuntimeError: The size of tensor a (2) must match")
        await reader.press("t")
        assert not reader.sees("Traceback")

    read(traced("import torch\nx = torch.ones(2)\nx + torch.ones(3)\n"), story, size=(80, 24))


def test_hostile_text_is_shown_as_it_is() -> None:
    async def story(reader: Reader) -> None:
        await reader.press("t")
        assert reader.sees(r"ValueError: [/] [red]a[/red] \x1b[31m")

    read(traced("import torch\nraise ValueError('[/] [red]a[/red] \\x1b[31m')\n"), story)


def test_without_an_error_it_says_so() -> None:
    async def story(reader: Reader) -> None:
        await reader.press("t")
        assert reader.sees("No error here, and none ended this program")

    read(traced("import torch\n"), story)
