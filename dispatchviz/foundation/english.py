"""Formatting of lists, counts, shapes and long texts in a sentence. This module contains no facts about PyTorch."""

from __future__ import annotations

from collections.abc import Collection, Sequence

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def listed(words: Sequence[str], joint: str = "and") -> str:
    """Join words: ``a``, ``a and b``, ``a, b and c``. No words give an empty string."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {joint} {words[-1]}"


def counted(number: int, one: str, many: str = "") -> str:
    """Write a count: ``one edge``, ``three edges``, ``12 edges``, ``no edges``."""
    word = _NUMBERS[number] if 0 <= number < len(_NUMBERS) else str(number)
    return f"{word} {one if number == 1 else many or one + 's'}"


def numbered(number: int, one: str) -> str:
    """Write a count with digits, for comparisons: ``1 edge``, ``12 edges``, ``1,200 edges``."""
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def ordinal(position: int) -> str:
    """Write an ordinal: ``first`` for 1, ``11th`` above ten."""
    return _ORDINALS[position - 1] if 0 < position <= len(_ORDINALS) else nth(position)


def nth(position: int) -> str:
    """Write an ordinal with digits: ``1st``, ``2nd``, ``11th``, ``21st``."""
    last = 0 if position % 100 in (11, 12, 13) else position % 10
    return f"{position}{('th', 'st', 'nd', 'rd')[last] if last < 4 else 'th'}"


def capital(sentence: str, names: Collection[str] = ()) -> str:
    """Capitalize a sentence that begins with a plain word. A name in code (``torch.add``, ``x``) stays as it is.

    ``names`` are variables of the program that look like plain words (``row``, ``row (t3)``).
    """
    names = {name.partition(" ")[0] for name in names}
    word = sentence.partition(" ")[0].rstrip(",")
    plain = word.isalpha() and len(word) > 1 and word not in names
    return sentence[:1].upper() + sentence[1:] if plain else sentence


def shaped(shape: Sequence[int]) -> str:
    """Write a shape: ``[2, 2]``, or ``[]`` for a tensor without dimensions."""
    return f"[{', '.join(map(str, shape))}]"


def hexed(raw: int) -> str:
    """Write a raw key set as PyTorch's debuggers show it: ``0x1000010002``."""
    return f"{raw:#x}"


def shortened(text: str, width: int) -> str:
    """Return the first line of a text, cut with an ellipsis."""
    line = text.strip().partition("\n")[0].rstrip()
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def plain_dtype(dtype: str) -> str:
    """Return ``float32`` for ``torch.float32``."""
    return dtype.removeprefix("torch.")
