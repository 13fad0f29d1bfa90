"""The limits of a session's process, for any code that runs in it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("Windows has no such terminals", allow_module_level=True)

from dispatchviz.cli.served_session import BEGINS, refuse
from dispatchviz.serving.offer import Kind, Offer, Offered

OWN = ("/tmp/own/",)
READ = os.O_RDONLY | os.O_CLOEXEC


@pytest.mark.parametrize(
    "path", ["/etc/passwd", b"/etc/passwd", Path("/etc/x"), "/tmp/own/../other", "relative", "/tmp/ownother"]
)
@pytest.mark.parametrize("flags", [os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_WRONLY | os.O_APPEND, os.O_TRUNC])
def test_session_writes_no_file_elsewhere(path: object, flags: int) -> None:
    with pytest.raises(PermissionError, match="a served session writes no files"):
        refuse(OWN, "open", (path, None, flags))


def test_session_reads_files_and_writes_in_its_own_folder() -> None:
    for path in ("/tmp/own/a", "/tmp/own", b"/tmp/own/b/c", "/dev/null", 3):
        refuse(OWN, "open", (path, None, os.O_WRONLY | os.O_CREAT))
    refuse(OWN, "open", ("/etc/hostname", "r", READ))
    refuse(OWN, "import", ("x",))


@pytest.mark.parametrize("event", BEGINS)
def test_session_starts_no_program(event: str) -> None:
    with pytest.raises(PermissionError, match="a served session starts no other program"):
        refuse(OWN, event, ())


def test_an_offer_comes_through_a_command_line_as_it_was() -> None:
    offer = Offer((Offered(Kind.TRACE, "a b/ü'.dvtrace", "ü'", 'says "x"'),), "answers/learner-01.json")
    assert Offer.decoded(offer.encoded()) == offer
