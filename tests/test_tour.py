"""The page with pictures of the stepper equals the output of its script, and each picture shows its subject."""

from __future__ import annotations

import re

import pytest

from dispatchviz.cli.tour_files import recording
from dispatchviz.tui.played.cast_file import shown_screens
from dispatchviz.tui.played.played_keys import texts
from scripts.tour import ANIMATION, CAST, FRAMES, PAGE, PICTURES, ROOT, STOPS, Stop, animation, page, picture

ANEW = "python -m scripts.tour makes the pictures anew"


def test_page_matches_the_script() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), ANEW
    names = [*(f"{stop.name}.svg" for stop in STOPS), f"{CAST.name}.cast", ANIMATION.name]
    assert sorted(path.name for path in PICTURES.iterdir()) == sorted(names)


def test_the_readme_shows_pictures_of_the_tour() -> None:
    """The test below compares these pictures with the stepper."""
    shown = re.findall(r"!\[[^]]+\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    made = {str(path.relative_to(ROOT)) for path in (ANIMATION, *(PICTURES / f"{stop.name}.svg" for stop in STOPS))}
    assert shown
    assert set(shown) <= made


@pytest.mark.long
@pytest.mark.parametrize("stop", STOPS, ids=[stop.name for stop in STOPS])
def test_a_picture_is_of_the_stepper_as_it_is(stop: Stop) -> None:
    """Textual's own marks differ from release to release, so only texts are compared."""
    kept = (PICTURES / f"{stop.name}.svg").read_text(encoding="utf-8")
    assert texts(kept) == texts(picture(stop)), ANEW


@pytest.mark.long
def test_the_animation_shows_the_stepper_as_it_is() -> None:
    kept = ANIMATION.read_text(encoding="utf-8")
    assert kept.count('<g class="later"') == len(FRAMES) - 1
    assert texts(kept) == texts(animation()), ANEW


@pytest.mark.long
def test_the_recording_is_of_the_stepper_as_it_is() -> None:
    kept = (PICTURES / f"{CAST.name}.cast").read_text(encoding="utf-8")
    assert shown_screens(kept) == shown_screens(recording(CAST)), ANEW
