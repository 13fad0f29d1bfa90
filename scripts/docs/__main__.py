"""A script that writes the reference, the pictures of the tutorial, and the outputs on all pages that run commands.

python -m scripts.docs             write all of it
python -m scripts.docs PAGE...     write only these pages
"""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.docs import commands_page, glossary_page, messages_page, misconceptions_page, pictures
from scripts.docs.page_runs import PageError, pages, with_outputs
from scripts.docs.python_pages import FOLDER, python_page, testing_page

READ_OFF = {
    glossary_page.PAGE: glossary_page.page,
    commands_page.PAGE: commands_page.page,
    messages_page.PAGE: messages_page.messages_page,
    misconceptions_page.PAGE: misconceptions_page.page,
    FOLDER / "python.md": python_page,
    FOLDER / "testing.md": testing_page,
}


def main(asked: list[str]) -> None:
    """Write the pages."""
    if not asked:
        pictures.write()  # before a command chooses the device behind cuda
    for path, text in READ_OFF.items():
        if not asked or path in map(Path.absolute, map(Path, asked)):
            path.write_text(text(), "utf-8")
    for path in (path for path in map(Path, asked) if path.absolute() not in READ_OFF) if asked else pages():
        written = path.read_text("utf-8")
        try:
            text_now = with_outputs(written)
        except PageError as error:
            sys.exit(f"{path}: {error}")
        if text_now != written:
            path.write_text(text_now, "utf-8")
            print(f"{path}: written")


if __name__ == "__main__":
    main(sys.argv[1:])
