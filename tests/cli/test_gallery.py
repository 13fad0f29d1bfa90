"""The command that writes a folder of pages with a list."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dispatchviz.cli import main
from dispatchviz.lessons.catalog import lesson_named
from dispatchviz.running.program import run
from tests.cli.command import FORUM, dispatchviz, refused
from tests.outputs.page.decoded import packed

LESSON = """\
# # What does `mul` record?
#
# One Node, for `x`.
#
# ## Predict
#
# stop: y's Node
# MulBackward0.

import torch

x = torch.ones(2, requires_grad=True)
y = x * 2
"""


@pytest.fixture
def sources(tmp_path: Path) -> list[str]:
    """Return a program that fails, another one of the same name, and a lesson."""
    for folder, text in (("one", '"""Adds nothing."""\nimport torch\ntorch.cat([])\n'), ("two", "import torch\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "net.py").write_text(text)
    (tmp_path / "own.py").write_text(LESSON)
    return [str(tmp_path / name) for name in ("one/net.py", "two/net.py", "own.py")]


def links(page: Path) -> dict[str, str]:
    """Return the text of each link of a list to a page, by its address."""
    return dict(re.findall(r'<li><a href="([^"]+)">(.*?)</a>', page.read_text()))


def test_folder_has_a_page_of_each_source_and_a_list(tmp_path: Path, sources: list[str]) -> None:
    """The exit status is that of the program that failed."""
    site = tmp_path / "site"
    done = dispatchviz("export", "--gallery", site, "--no-lessons", FORUM, *sources, cwd=tmp_path)
    assert done.status == 1
    assert "expected a non-empty list" in done.err
    assert links(site / "index.html") == {
        "programs/forum.html": "<code>forum.py</code>",
        "programs/net.html": "<code>net.py</code>",
        "programs/net-2.html": "<code>net.py</code>",
        "own/own.html": "What does <code>mul</code> record?",
    }
    assert all((site / file).is_file() for file in links(site / "index.html"))
    text = (site / "index.html").read_text()
    assert "Adds nothing." in text
    assert str(tmp_path) not in text
    assert "http" not in text.replace("http-equiv", "")


def headings(page: Path) -> list[str]:
    return re.findall(r"<h2[^>]*>(.*?)</h2>", page.read_text())


def test_list_has_own_lessons_first_and_says_what_each_page_is(tmp_path: Path, sources: list[str]) -> None:
    (tmp_path / "first.py").write_text("import torch\n\ntorch.ones(2)\n")
    run(str(tmp_path / "first.py")).trace.save(tmp_path / "dan.dvtrace")
    dispatchviz("export", "--gallery", tmp_path, "--no-lessons", "dan.dvtrace", *sources[1:], "engine", cwd=tmp_path)
    index = tmp_path / "index.html"
    assert headings(index) == ["Lessons", "Programs"]
    assert list(links(index)) == ["own/own.html", "lessons/engine.html", "programs/dan.html", "programs/net.html"]
    assert links(index)["programs/dan.html"] == "<code>dan.dvtrace</code>"
    assert "<span>A program of 3 lines</span>" in index.read_text()
    assert "<span>A program of 1 line</span>" in index.read_text()


def test_each_page_links_to_the_list_and_to_the_lesson_that_follows_there(tmp_path: Path, sources: list[str]) -> None:
    dispatchviz("export", "--gallery", tmp_path, "--no-lessons", *sources[1:], "engine", cwd=tmp_path)
    for page in ("own/own.html", "lessons/engine.html", "programs/net.html"):
        assert '<header><a id="contents" href="../index.html">' in (tmp_path / page).read_text()
    remarks = packed((tmp_path / "own" / "own.html").read_bytes())["recorded"]["remarks"]
    assert remarks["links"][1:] == [
        [lesson_named("engine", None).title.replace("`", ""), "", "../lessons/engine.html"],
        [" ", ""],
        ["all pages", "", "../index.html"],
    ]
    assert "The next lesson" not in remarks["lesson_end"]
    final = packed((tmp_path / "lessons" / "engine.html").read_bytes())["recorded"]["remarks"]
    assert [address for _, _, *address in final["links"] if address] == [["../index.html"]]
    assert "The next lesson" not in final["lesson_end"], "the one that follows it elsewhere is not in this gallery"


def test_chosen_lessons_are_written_by_name(tmp_path: Path) -> None:
    assert dispatchviz("export", "--gallery", tmp_path / "site", "--no-lessons", "engine", cwd=tmp_path).status == 0
    assert list(links(tmp_path / "site" / "index.html")) == ["lessons/engine.html"]


def test_missing_source_is_reported_before_anything_is_written(tmp_path: Path) -> None:
    assert "cannot read no_such.py" in refused("export", "--gallery", tmp_path / "site", FORUM, "no_such.py")
    assert not (tmp_path / "site").exists()


def test_other_files_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("mine")
    assert "is not a list of a gallery" in refused("export", "--gallery", tmp_path, "--no-lessons", FORUM)
    assert (tmp_path / "index.html").read_text() == "mine"


def test_help_of_the_gallery_is_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--gallery", "--help"]) == 0
    assert "--no-lessons" in capsys.readouterr().out
    assert main(["export", "--help"]) == 0
    assert "--gallery FOLDER" in capsys.readouterr().out
