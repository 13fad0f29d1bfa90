"""The names that a C++ header declares: classes and their members, functions, other names of types.

This is not a parser of C++: bodies of functions are left out, and each declaration gives its name. That suffices for
the headers of ``torch/csrc/autograd``, which are formatted by a program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*|^\s*#[^\n]*", re.DOTALL | re.MULTILINE)
_TEXT = re.compile(r'"(?:\\.|[^"\\])*"')
_OPENS = re.compile(r"\b(namespace|struct|class)\b[^;()]*$")
"""A pattern for the text before a brace whose contents are also declarations."""

_ALIAS = re.compile(r"using (?:(\w+) =|[\w:]*?(\w+)(?:<.*)?$)")
_CLASS = re.compile(r"(?:struct|class) (?:\w+_API )?(\w+)(?!.*\()")
_FUNCTION = re.compile(r"(operator\(\)|\w+) ?\(")
_FIELD = re.compile(r"(\w+) ?(?:=.*)?$")
_IN_FRONT = re.compile(r"(?:public|private|protected)\s*:(?!:)|\btemplate\s*<[^>]*>")


def declared_names(header: str) -> list[str]:
    """Return the declared names in order, each once."""
    return list(dict.fromkeys(name for each in _declarations(header) if (name := _name(each))))


def _declarations(header: str) -> Iterator[str]:
    """Yield each declaration without its body, on one line."""
    so_far, depth = "", 0
    for piece in re.split(r"([;{}])", _TEXT.sub("", _COMMENTS.sub("", header))):
        if depth:
            depth += {"{": 1, "}": -1}.get(piece, 0)
        elif piece in (";", "}"):
            yield _plain(so_far)
            so_far = ""
        elif piece != "{":
            so_far += piece
        elif _OPENS.search(so_far):
            yield _plain(so_far)
            so_far = ""
        elif "(" in so_far:
            yield _plain(so_far)
            so_far, depth = "", 1


def _plain(text: str) -> str:
    return " ".join(_IN_FRONT.sub("", text).split())


def _name(declaration: str) -> str:
    if not declaration or declaration.startswith(("namespace", "friend", "}")) or declaration.endswith("= delete"):
        return ""
    if alias := _ALIAS.match(declaration):
        return alias[1] or alias[2]
    if named := _CLASS.search(declaration.partition(" : ")[0]):
        return named[1]
    found = _FUNCTION.search(declaration.partition(" : ")[0]) or _FIELD.search(declaration)
    return found[1] if found else ""
