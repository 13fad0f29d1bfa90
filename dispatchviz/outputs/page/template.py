"""HTML files from templates with ``{{name}}``, and the hashes that their content security policies name."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping


def filled(template: str, parts: Mapping[str, str]) -> str:
    """Return the template with a part in place of each ``{{name}}``. The parts themselves are not searched again."""
    pieces = template.split("{{")
    found = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        found += [parts[name], rest]
    return "".join(found)


def hash_of(text: str) -> str:
    """Return the source expression of a content security policy for a style sheet or a script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
