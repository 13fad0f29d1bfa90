"""The page with pictures of the stepper: it is what its script writes, and each picture shows what it is of."""

from __future__ import annotations

import re

import pytest

from scripts.tour import PAGE, PICTURES, STOPS, Stop, page, picture


def test_the_page_is_what_the_script_writes() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()
    assert sorted(path.stem for path in PICTURES.iterdir()) == sorted(stop.name for stop in STOPS)


@pytest.mark.long
@pytest.mark.parametrize("stop", STOPS, ids=[stop.name for stop in STOPS])
def test_a_picture_is_of_the_stepper_as_it_is(stop: Stop) -> None:
    """Textual's own marks differ from release to release: the texts are compared."""
    kept = (PICTURES / f"{stop.name}.svg").read_text(encoding="utf-8")
    assert texts(kept) == texts(picture(stop)), "python -m scripts.tour makes the pictures anew"


def texts(svg: str) -> list[str]:
    """The words on the screen."""
    return re.findall(r"<text [^>]*>(.*?)</text>", svg)
