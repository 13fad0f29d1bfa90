"""A program compiled to announce its lines announces them all, and cannot tell."""

from __future__ import annotations

import traceback
import warnings
from typing import Any

import pytest

from dispatchviz.lines import compile_watched


def _run(source: str, **space: Any) -> tuple[list[int], list[tuple[str, str, Any]], dict[str, Any]]:
    """Lines reached, names bound, and the namespace that is left."""
    lines: list[int] = []
    names: list[tuple[str, str, Any]] = []
    space |= {"__name__": "__main__"}
    exec(compile_watched(source, "p.py", lines.append, lambda *bound: names.append(bound)), space)
    space.pop("__builtins__")
    return lines, names, space


def test_each_statement_is_announced_before_it_runs() -> None:
    lines, _, space = _run(
        "a = [1]\nfor i in a:\n    b = i\n\nif b:\n    c = 1\nelif a:\n    c = 2\nelse:\n    c = 3\n"
    )
    assert lines == [1, 2, 3, 5, 6]
    assert space == {"__name__": "__main__", "a": [1], "i": 1, "b": 1, "c": 1}


def test_the_condition_of_a_while_is_announced_each_time() -> None:
    lines, _, _ = _run("i = 0\nwhile i < 2:\n    i += 1\nelse:\n    j = 1\n")
    assert lines == [1, 2, 3, 2, 3, 2, 5]


def test_functions_classes_decorators_and_matches() -> None:
    source = "def deco(f):\n    return f\n@deco\ndef f():\n    return 1\nclass C:\n    x = f()\nmatch C.x:\n    case 1:\n        y = 2\n"
    assert _run(source)[0] == [1, 3, 2, 6, 7, 5, 8, 10]


def test_try_with_and_what_is_behind_a_colon() -> None:
    source = "import contextlib\nwith contextlib.nullcontext(3) as n: a = n\ntry: 1 / 0\nexcept ZeroDivisionError: b = 1\nfinally:\n    c = 1\n"
    lines, names, _ = _run(source)
    assert lines == [1, 2, 3, 4, 6]
    assert names == [("", "n", 3), ("", "a", 3), ("", "b", 1), ("", "c", 1)]


def test_statements_on_one_line_are_one_line() -> None:
    assert _run("a = 1; b = 2\nc = (a +\n     b)\n")[0] == [1, 2]


def test_names_are_told_with_their_function() -> None:
    source = "a, (b, *c) = 1, (2, 3)\nd: int = 4\ne: int\nd += 1\ndef f(x):\n    y = x\n    return y\nf(6)\nfor g in [7]: pass\nc[0] = 8\n"
    _, names, _ = _run(source)
    assert names == [
        ("", "a", 1),
        ("", "b", 2),
        ("", "c", [8]),
        ("", "d", 4),
        ("", "d", 5),
        ("f", "y", 6),
        ("", "g", 7),
    ]


def test_private_names_of_a_class_are_found() -> None:
    assert _run("class C:\n    __p = 1\n    def get(self): __q = 2; return __q\nC().get()\n")[1] == [
        ("C", "__p", 1),
        ("C.get", "__q", 2),
    ]


def test_the_program_cannot_tell() -> None:
    source = '"""Mine."""\nfrom __future__ import annotations\ndef f(x: Nonsense):\n    "Its own."\nmine = (__doc__, f.__doc__, f.__annotations__, dir())\n'
    expected: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "p.py", "exec", dont_inherit=True), expected)
    assert _run(source)[2]["mine"] == expected["mine"]


def test_tracebacks_point_where_they_always_do() -> None:
    source = "def f(x):\n    y = 1\n    return (x +\n            1 / 0)\nf(\n  2)\n"
    with pytest.raises(ZeroDivisionError) as plain:
        exec(compile(source, "p.py", "exec"), {})
    with pytest.raises(ZeroDivisionError) as watched:
        _run(source)
    assert _places(watched.value) == _places(plain.value)


def _places(error: BaseException) -> list[tuple[Any, ...]]:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "p.py"]
    return [(f.name, f.lineno, f.end_lineno, f.colno, f.end_colno) for f in frames]


def test_generators_coroutines_and_globals() -> None:
    source = "def g():\n    global k\n    k = 1\n    yield k\n    yield 2\nr = list(g())\nasync def c():\n    async with x: pass\nl = [y for y in g() if (z := y)]\n"
    lines, names, space = _run(source)
    assert lines == [1, 6, 3, 4, 5, 7, 9, 3, 4, 5] or lines == [1, 6, 2, 3, 4, 5, 7, 9, 2, 3, 4, 5]
    assert (space["r"], space["k"], space["l"]) == ([1, 2], 1, [1, 2])
    assert ("g", "k", 1) in names


def test_the_compiler_warns_once_and_about_the_program_only() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compile_watched("assert (1, 'no')\n", "p.py", print, print)
    assert [str(w.message).partition("?")[0] for w in caught if w.lineno == 1] == [
        str(caught[0].message).partition("?")[0]
    ]


def test_a_syntax_error_is_raised_as_by_compile() -> None:
    with pytest.raises(SyntaxError, match="never closed") as caught:
        compile_watched("x = (\n", "p.py", print, print)
    assert (caught.value.filename, caught.value.lineno) == ("p.py", 1)
