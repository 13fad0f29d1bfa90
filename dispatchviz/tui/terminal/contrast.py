"""Readable colors: their contrast as WCAG 2 defines it, and the nearest color with enough contrast."""

from __future__ import annotations

from rich.color_triplet import ColorTriplet

LEAST = 4.5
"""The contrast that WCAG 2 requires of text (level AA)."""

BLACK, WHITE = ColorTriplet(0, 0, 0), ColorTriplet(255, 255, 255)

STEPS = 50
"""The number of steps in which a color is moved to black or white."""


def contrast(one: ColorTriplet, other: ColorTriplet) -> float:
    """Return the contrast of two colors, from 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def readable(color: ColorTriplet, background: ColorTriplet) -> ColorTriplet:
    """Return a color, or the nearest one towards black or white that can be read on a background."""
    end = max(BLACK, WHITE, key=lambda each: contrast(each, background))
    mixed = (_mixed(color, end, step / STEPS) for step in range(STEPS + 1))
    return next(each for each in mixed if contrast(each, background) >= LEAST)


def muted(color: ColorTriplet, background: ColorTriplet) -> ColorTriplet:
    """Return a weaker color for text that matters less, which can be read all the same."""
    return readable(_mixed(color, background, MUTED), background)


MUTED = 0.35
"""The position of muted text between its color and its background."""


def _mixed(one: ColorTriplet, other: ColorTriplet, share: float) -> ColorTriplet:
    return ColorTriplet(*(round(a + (b - a) * share) for a, b in zip(one, other, strict=True)))


def _luminance(color: ColorTriplet) -> float:
    red, green, blue = (_linear(part / 255) for part in color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
