"""The names with which browsers may address the server, and the pages whose sessions it accepts.

A page from elsewhere must not reach the server through its reader's browser. Two headers show where a request comes
from: ``Host`` is the name in the browser's address bar, and ``Origin`` is the page that opens a websocket. A foreign
domain that resolves to this machine (DNS rebinding) has its own name in ``Host``; a numeric address cannot be rebound.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Collection
from contextlib import suppress

LOCALHOST = "localhost"

NAME = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+)(:(?P<port>\d{1,5}))?", re.ASCII)
"""A host and its port, as ``Host`` has them."""


def is_name(text: str) -> bool:
    """Return whether a text is a host, with or without a port."""
    return NAME.fullmatch(text) is not None


def names_of_this_machine() -> tuple[str, ...]:
    """Return the names that this machine gives itself."""
    own = socket.gethostname().lower()
    short = own.partition(".")[0]
    return tuple(dict.fromkeys((LOCALHOST, own, short, f"{short}.local")))


def may_be_asked(host: str, names: Collection[str]) -> bool:
    """Return whether ``Host`` is a numeric address or one of ``names``, with any port."""
    found = NAME.fullmatch(host)
    if found is None:
        return False
    name = found["host"].lower().rstrip(".")
    with suppress(ValueError):
        ipaddress.ip_address(name.strip("[]"))
        return True
    return name in {_host(each) for each in names}


def _host(name: str) -> str:
    found = NAME.fullmatch(name)
    return found["host"].lower() if found else ""


def is_own_page(origin: str, host: str, names: Collection[str]) -> bool:
    """Return whether ``Origin`` is a page of this server. ``host`` is the request's own; ``names`` are those of a
    proxy.
    """
    scheme, _, place = origin.partition("://")
    return scheme in ("http", "https") and place.lower() in {each.lower() for each in (host, *names)}
