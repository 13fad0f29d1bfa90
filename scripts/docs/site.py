"""What MkDocs calls while it builds the site (``hooks`` in ``mkdocs.yml``).

Pages are written for the repository: they link to files outside ``docs``, and lists may follow a line at once. What they
link to comes along, under ``repository/``: Markdown as a page, everything else as it is.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.docs.links import links, outside_code, resolved, with_links

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
FOLDER = "repository"
LIST_BEGINS = re.compile(r"(?<=\n)(?P<before>(?![-*\d|>#\s]).*\n)(?=(?:- |1\. ))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """With what pages link to outside ``docs``, and what those link to there."""
    from mkdocs.structure.files import File

    found = [f"docs/{file.src_uri}" for file in files.documentation_pages()]
    seen = set(found)
    for page in found:
        for target in links((ROOT / page).read_text("utf-8")):
            path, _ = resolved(target, page)
            if path not in seen and not path.startswith("docs/") and (ROOT / path).is_file():
                seen.add(path)
                files.append(File.generated(config, place(path), abs_src_path=str(ROOT / path)))
                found += [path] if path.endswith(".md") else []
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """As Python's Markdown wants it."""
    here = page.file.src_uri
    home = here.removeprefix(f"{FOLDER}/") if here.startswith(f"{FOLDER}/") else f"docs/{here}"
    with_their_places = with_links(markdown, lambda target: on_site(target, home))
    return outside_code(with_their_places, lambda piece: LIST_BEGINS.sub(r"\g<before>\n", piece))


def on_site(target: str, page: str) -> str:
    """A link of a page of the repository, as the site has it."""
    if target.startswith("#"):
        return target
    path, anchor = resolved(target, page)
    from_here = posixpath.relpath(place(path), posixpath.dirname(place(page)) or ".")
    return f"{from_here}#{anchor}" if anchor else from_here


def place(path: str) -> str:
    """Where a file of the repository is among the sources of the site."""
    return path.removeprefix("docs/") if path.startswith("docs/") else f"{FOLDER}/{path}"
