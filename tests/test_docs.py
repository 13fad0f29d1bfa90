"""The documentation: its pages show the current output, its links have targets, and the site builds."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from scripts.docs.__main__ import READ_OFF
from scripts.docs.commands_page import help_texts
from scripts.docs.page_runs import PageError, Part, pages, plain, with_outputs
from scripts.docs.pictures import FOLDER, PICTURES
from tests.amounts import some
from tests.cli.command import dispatchviz
from tests.test_tour import texts
from tests.waiting import HANGS

ROOT = Path(__file__).parents[1]
LINKING = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "examples" / "README.md"])
MAKE = "python -m scripts.docs makes it again"


def name(path: Path) -> str:
    """Return the name of a page in the repository."""
    return path.relative_to(ROOT).as_posix()


# -- what is on the pages ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", READ_OFF, ids=name)
def test_reference_pages_match_the_code(page: Path) -> None:
    assert page.read_text("utf-8") == READ_OFF[page](), MAKE


@pytest.mark.long
@pytest.mark.parametrize("page", some(pages(), 2), ids=name)
def test_commands_of_a_page_print_the_shown_output(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text == with_outputs(text), MAKE


@pytest.mark.long
@pytest.mark.torch
@pytest.mark.parametrize("page", some(pages(recording=True), 2), ids=name)
def test_recordings_on_a_page_print_the_shown_output(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text == with_outputs(text), ".venv-torch/bin/python -m scripts.docs PAGE makes it again"


@pytest.mark.long
@pytest.mark.parametrize("picture", PICTURES)
def test_pictures_of_the_tutorial_are_current(picture: str) -> None:
    kept = (FOLDER / f"{picture}.svg").read_text("utf-8")
    assert texts(kept) == texts(PICTURES[picture]()), MAKE


README = (ROOT / "README.md").read_text("utf-8")
LOGS = re.findall(r"`dispatchviz ([^`]*)`(?: \([a-z]+\))?[^`]*:\n\n```text\n(.*?)```", README, re.DOTALL)
PROGRAMS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.long
@pytest.mark.parametrize(("command", "log"), LOGS, ids=[command for command, _ in LOGS])
def test_the_lines_in_the_readme_are_printed(command: str, log: str) -> None:
    """The page leaves out lines, but changes none."""
    printed = iter(" ".join(line.split()) for line in dispatchviz(*command.split()).out.splitlines())
    assert [line for line in log.splitlines() if " ".join(line.split()) not in printed] == []


def test_the_programs_in_the_readme_run() -> None:
    assert len(LOGS) == README.count("```text") == 1
    asked, *programs = PROGRAMS
    assert asked == (ROOT / "examples" / "forum.py").read_text("utf-8"), "its logs count the lines of the file"
    for program in programs:
        with_outputs(f"```python\n{program}```\n")


def test_part_of_an_output_is_found() -> None:
    lines = ["a", "b 1", "c", "b 2", "d"]
    assert Part.read("").of(lines) == lines
    assert Part.read("b ... d").of(lines) == ["...", "b 1", "c", "b 2", "..."]
    assert Part.read("b").of(lines) == ["...", "b 1", "...", "b 2", "..."]
    assert Part.read("b").of(["b 1", "  | because of b", "b 2"]) == ["b 1", "...", "b 2"]
    assert Part.read("a ... c").of(lines) == ["a", "b 1", "..."]
    with pytest.raises(PageError, match="no line of the output has 'e'"):
        Part.read("a ... e").of(lines)


def test_the_rules_of_a_page() -> None:
    page = "Save it as `a.py`:\n\n```python\nprint(1)\n```\n\n<!-- show: 1 -->\n\n```console\n$ python a.py\nold\n```\n"
    assert with_outputs(page) == page.replace("old\n", "1\n")
    with pytest.raises(PageError, match="pages run dispatchviz and python"):
        with_outputs("```console\n$ rm a.py\n```\n")
    with pytest.raises(PageError, match=r"(?s)ends with 2:.*there is no command 'tracee'"):
        with_outputs("```console\n$ dispatchviz tracee\n```\n")
    with pytest.raises(PageError, match=r"(?s)table gone.*ends with 2"):
        with_outputs("It is\n\n    dispatchviz table gone\n")
    with pytest.raises(PageError, match="ends with 3"):
        with_outputs("```python\nraise SystemExit(3)\n```\n")


def test_nothing_of_this_machine_is_on_a_page(tmp_path: Path) -> None:
    printed = f"{tmp_path}/cache/a {tmp_path}/b\nx on the model of PyTorch 2.14.1, cuda: emulated on NumPy (why)\n"
    assert plain(printed, tmp_path) == "~/.cache/a ./b\nx on the model of PyTorch 2.14.1"
    recorded = "x on PyTorch 2.13.0+cu130 (installed, observed), cuda: none (CUDA 13.0 build without a GPU)"
    assert plain(recorded, tmp_path) == "x on PyTorch 2.13.0 (installed, observed)"


HELP = help_texts()


def unknown(text: str) -> list[str]:
    """Return commands in a page's sentences that do not exist or have no such option."""
    named = re.findall(r"`dispatchviz ([a-z-]+)\b([^`]*)`", text)
    wrong = [command for command, _ in named if command not in HELP]
    options = ((command, option) for command, rest in named for option in re.findall(r"(?<=\s)-{1,2}\w[\w-]*", rest))
    return wrong + [f"{command} {option}" for command, option in options if option not in HELP.get(command, option)]


@pytest.mark.parametrize("page", LINKING, ids=name)
def test_commands_in_sentences_exist(page: Path) -> None:
    assert unknown(page.read_text("utf-8")) == []


def test_a_command_that_does_not_exist_would_be_found() -> None:
    assert unknown("`dispatchviz trce` `dispatchviz trace --lvl x` `dispatchviz keys --json`") == [
        "trce",
        "trace --lvl",
    ]


# -- links ------------------------------------------------------------------------------------------------------------


def tokens(page: Path) -> list[Token]:
    """Yield the tokens of a page, inner ones included."""
    parsed = MarkdownIt().enable("table").parse(page.read_text("utf-8"))
    return [token for outer in parsed for token in (outer, *(outer.children or ()))]


def anchors(page: Path) -> set[str]:
    """Return the names that GitHub and the site give to its headings."""
    found = tokens(page)
    titles = [after.content for token, after in itertools.pairwise(found) if token.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(page: Path) -> list[str]:
    """Return its links and pictures that lead to no file, or to no heading of one."""
    targets = [str(token.attrs.get("href") or token.attrs.get("src") or "") for token in tokens(page)]
    return [target for target in targets if target and not re.match("[a-z]+:", target) and not leads(page, target)]


def leads(page: Path, target: str) -> bool:
    """Return whether a link of a page has a target."""
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    return file.exists() and (not anchor or anchor in anchors(file))


@pytest.mark.parametrize("page", LINKING, ids=name)
def test_links_have_a_target(page: Path) -> None:
    assert broken(page) == []


def test_a_broken_link_would_be_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A `b` c\n\n[1](#a-b-c) [2](#d) [3](gone.md) [4](page.md#a-b-c) ![5](gone.svg) `[6](gone)`\n")
    assert broken(page) == ["#d", "gone.md", "gone.svg"]


# -- the site ---------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_site_builds_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    """Build as ``make docs`` does: a warning, such as of a broken link or a page outside the contents, fails."""
    command = [
        sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs/site", "-d", str(tmp_path / "read"),
    ]  # fmt: skip
    site = tmp_path / "site"
    built = subprocess.run([*command, ".", str(site)], cwd=ROOT, capture_output=True, timeout=HANGS, check=False)
    assert (built.returncode, built.stderr.decode()) == (0, "")
    written = {path.relative_to(site).with_suffix(".md").as_posix() for path in site.rglob("*.html")}
    assert {name(page) for page in LINKING} - written == {"README.md"}
    loaded = [address for path in site.rglob("*.html") for address in loads(path.read_text("utf-8"))]
    assert loaded, "pages have scripts and styles"
    assert [address for address in loaded if re.match(r"(https?:)?//", address)] == []
    styles = "".join(path.read_text("utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)]*", styles) == []


def loads(html: str) -> list[str]:
    """Return the addresses that a browser fetches with a page: of scripts, styles and pictures, not of links."""
    tags = re.findall(r"<(?:script|img|iframe|source|link)\b[^>]*>", html)
    return [address for tag in tags for address in re.findall(r"\b(?:src|href)=\"([^\"]*)\"", tag)]
