"""A program that is compiled to announce its lines announces all of them and cannot notice it."""

from __future__ import annotations

import traceback
import warnings
from textwrap import dedent
from typing import Any

import pytest

from dispatchviz.running.instrumented_source import compile_instrumented


class _Watcher:
    """A watcher that writes down lines and names."""

    def __init__(self, lines: list[int], names: list[tuple[str, str, Any]]) -> None:
        self.line_reached = lines.append
        self.calls: list[int] = []
        """The line with which each call of a function began; 0 for one that reports itself."""
        self._lines, self._names = lines, names

    def call_begins(self, line: int) -> None:
        self.calls.append(line)
        self._lines.extend([line] if line else [])

    def variable_bound(self, scope: str, name: str, value: Any) -> None:
        self._names.append((scope, name, value))

    bound_in_iteration = variable_bound

    def binding(self, scope: str, name: str, value: Any) -> Any:
        self._names.append((scope, f"{name} :=", value))
        return value

    def items_changed(self, scope: str, name: str, value: Any) -> None:
        self._names.append((scope, f"{name}[...]", value))

    def here(self, value: Any = None) -> Any:
        return value

    away = here

    def within(self) -> Any:
        return self.here


def _run(program: str) -> tuple[list[int], list[tuple[str, str, Any]], dict[str, Any]]:
    """Return the lines reached, the names bound, and the remaining namespace. The program begins after the first
    newline.
    """
    lines: list[int] = []
    names: list[tuple[str, str, Any]] = []
    space: dict[str, Any] = {"__name__": "__main__"}
    code = compile_instrumented(dedent(program).lstrip("\n"), "p.py", _Watcher(lines, names))
    exec(code, space)
    space.pop("__builtins__")
    return lines, names, space


def test_each_statement_is_announced_before_it_runs() -> None:
    lines, _, space = _run("""
        a = [1]
        for i in a:
            b = i

        if b:
            c = 1
        elif a:
            c = 2
        else:
            c = 3
        """)
    assert lines == [1, 2, 3, 5, 6]
    assert space == {"__name__": "__main__", "a": [1], "i": 1, "b": 1, "c": 1}


def test_the_condition_of_a_while_is_announced_each_time() -> None:
    lines, _, _ = _run("""
        i = 0
        while i < 2:
            i += 1
        else:
            j = 1
        """)
    assert lines == [1, 2, 3, 2, 3, 2, 5]


def test_functions_classes_decorators_and_matches() -> None:
    lines, _, _ = _run("""
        def deco(f):
            return f
        @deco
        def f():
            return 1
        class C:
            x = f()
        match C.x:
            case 1:
                y = 2
        """)
    assert lines == [1, 3, 2, 6, 7, 5, 8, 10]


def test_try_with_and_what_is_behind_a_colon() -> None:
    lines, names, _ = _run("""
        import contextlib
        with contextlib.nullcontext(3) as n: a = n
        try: 1 / 0
        except ZeroDivisionError: b = 1
        finally:
            c = 1
        """)
    assert lines == [1, 2, 3, 4, 6]
    assert names == [("", "n", 3), ("", "a", 3), ("", "b", 1), ("", "c", 1)]


def test_statements_on_one_line_are_one_line() -> None:
    lines, _, _ = _run("""
        a = 1; b = 2
        c = (a +
             b)
        """)
    assert lines == [1, 2]


def test_names_are_recorded_with_their_function() -> None:
    _, names, _ = _run("""
        a, (b, *c) = 1, (2, 3)
        d: int = 4
        e: int
        d += 1
        def f(x):
            y = x
            return y
        f(6)
        for g in [7]: pass
        c[0] = 8
        """)
    recorded = [("", "a", 1), ("", "b", 2), ("", "c", [8]), ("", "d", 4), ("", "d", 5), ("f", "y", 6), ("", "g", 7)]
    assert names == [*recorded, ("", "c[...]", [8])]


def test_private_names_of_a_class_are_found() -> None:
    _, names, _ = _run("""
        class C:
            __p = 1
            def get(self): __q = 2; return __q
        C().get()
        """)
    assert names == [("C", "__p", 1), ("C.get", "__q", 2)]


DOCUMENTED = '''\
"""Mine."""
from __future__ import annotations
def f(x: Nonsense):
    "Its own."
mine = (__doc__, f.__doc__, f.__annotations__, dir())
'''


def test_the_program_cannot_notice() -> None:
    expected: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(DOCUMENTED, "p.py", "exec", dont_inherit=True), expected)
    assert _run(DOCUMENTED)[2]["mine"] == expected["mine"]


RAISING = """\
def f(x):
    y = 1
    return (x +
            1 / 0)
f(
  2)
"""


def test_tracebacks_point_where_they_always_do() -> None:
    with pytest.raises(ZeroDivisionError) as plain:
        exec(compile(RAISING, "p.py", "exec"), {})
    with pytest.raises(ZeroDivisionError) as watched:
        _run(RAISING)
    assert _places(watched.value) == _places(plain.value)


def _places(error: BaseException) -> list[tuple[Any, ...]]:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "p.py"]
    return [(f.name, f.lineno, f.end_lineno, f.colno, f.end_colno) for f in frames]


def test_generators_coroutines_and_globals() -> None:
    lines, names, space = _run("""
        def g():
            global k
            k = 1
            yield k
            yield 2
        r = list(g())
        async def c():
            async with x: pass
        l = [y for y in g() if (z := y)]
        """)
    assert lines == [1, 6, 2, 3, 4, 5, 7, 9, 2, 3, 4, 5]
    assert (space["r"], space["k"], space["l"]) == ([1, 2], 1, [1, 2])
    assert ("g", "k", 1) in names


def test_the_compiler_warns_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compile_instrumented("assert (1, 'no')\n", "p.py", _Watcher([], []))
    assert [str(warning.message)[:25] for warning in caught] == ["assertion is always true,"]


def test_a_syntax_error_is_raised_as_by_compile() -> None:
    with pytest.raises(SyntaxError, match="never closed") as caught:
        compile_instrumented("x = (\n", "p.py", _Watcher([], []))
    assert (caught.value.filename, caught.value.lineno) == ("p.py", 1)


def test_variable_bound_in_an_expression_is_reported_at_once() -> None:
    _, names, space = _run("""
        if False and (never := 1):
            pass
        while (i := len(__name__)) > 100:
            pass
        def f(x, *, y=(z := 3)):
            return (w := x) + 1
        f(5)
        g = lambda x: (inner := x)
        squares = [last := n * n for n in range(3)]
        """)
    told = [(scope, name, value) for scope, name, value in names if name.endswith(":=")]
    assert ("", "i :=", 8) in told
    assert ("f", "w :=", 5) in told
    assert ("", "z :=", 3) in told
    assert {name for _, name, _ in told} == {"i :=", "w :=", "z :="}, "those of lambdas and comprehensions are not"
    assert "never" not in space
    assert (space["i"], space["z"], space["last"]) == (8, 3, 4)
