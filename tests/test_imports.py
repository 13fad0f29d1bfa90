"""Imports: the package has no circle at module level and only small ones through imports in functions. Code that few
programs use is loaded on first use.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import dedent

import grimp
import pytest
from _pytest.assertion.rewrite import AssertionRewriter

import dispatchviz
from dispatchviz.torch._lazy_modules import ATTRIBUTES, NAMES

PACKAGE = Path(__file__).parent.parent / "dispatchviz"


# -- circles --------------------------------------------------------------------------------------------------------


def modules(package: Path = PACKAGE) -> dict[str, Path]:
    """Return every module of a package by its full name."""
    found = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def module_level(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield statements that run when the module is imported: neither in functions nor for type checkers alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from (statement for branch in child.orelse for statement in [branch, *module_level(branch)])
            continue
        if isinstance(child, ast.stmt):
            yield child
        yield from module_level(child)


def imported(source: str, known: dict[str, Path]) -> set[str]:
    """Return the modules that a module imports when it is imported itself."""
    found = set()
    for statement in module_level(ast.parse(source)):
        if isinstance(statement, ast.Import):
            found |= {alias.name for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom):
            assert statement.level == 0, "imports are absolute"
            for alias in statement.names:
                full = f"{statement.module}.{alias.name}"
                found.add(full if full in known else str(statement.module))
    return found & known.keys()


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return modules that import each other, directly or not. They remain when modules that import no remaining module,
    and modules that no remaining module imports, are removed one after the other.
    """
    left = {name: set(targets) for name, targets in graph.items()}
    while True:
        sought = set().union(*left.values())
        gone = {name for name, targets in left.items() if not targets & left.keys() or name not in sought}
        if not gone:
            return [sorted(left)] if left else []
        left = {name: targets - gone for name, targets in left.items() if name not in gone}


def test_no_circle_at_module_level() -> None:
    known = modules()
    assert len(known) > 900
    graph = {name: imported(path.read_text("utf-8"), known) for name, path in known.items()}
    assert circles(graph) == []


def test_a_circle_would_be_found(tmp_path: Path) -> None:
    package = tmp_path / "p"
    package.mkdir()
    (package / "__init__.py").write_text("from p import a as a\n")
    (package / "a.py").write_text("from p.b import f\n")
    (package / "b.py").write_text("if True:\n    import p.c\nfrom p import a_name\n")
    (package / "c.py").write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import p.b\n")
    (package / "d.py").write_text("import p.c\n\ndef f():\n    import p.d\n")
    known = modules(package)
    graph = {name: imported(path.read_text(), known) for name, path in known.items()}
    assert graph["p.b"] == {"p.c", "p"}
    assert graph["p.c"] == set()
    assert graph["p.d"] == {"p.c"}
    assert circles(graph) == [["p", "p.a", "p.b"]]


def reached(graph: dict[str, set[str]], begin: str) -> set[str]:
    """Return all modules that a module imports, directly or not."""
    found, left = set[str](), [begin]
    while left:
        new = graph[left.pop()] - found
        found |= new
        left.extend(new)
    return found


def knots(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the sets of modules in which each imports all others, directly or not; the largest one first."""
    left = {name for circle in circles(graph) for name in circle}
    found = []
    while left:
        name = min(left)
        among = {one: graph[one] & left for one in left}
        importing = {one: {other for other in left if one in among[other]} for one in left}
        knot = reached(among, name) & reached(importing, name)
        left -= knot | {name}
        found.append(knot)
    return sorted(filter(None, found), key=len, reverse=True)


def test_circles_through_functions_are_few_and_small() -> None:
    built = grimp.build_graph("dispatchviz", exclude_type_checking_imports=True, cache_dir=None)
    graph = {name: built.find_modules_directly_imported_by(name) for name in built.modules}
    assert len(graph) > 900
    largest, *others = knots(graph)
    assert len(largest) <= 33, sorted(largest)
    assert "dispatchviz.core.autograd.graph.node" in largest
    assert others == []


def test_knots_are_found() -> None:
    graph = {
        "a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a", "f"}, "g": {"c", "h"},
        "h": set[str](),
    }  # fmt: skip
    assert knots(graph) == [{"a", "b", "c"}, {"d", "e"}, {"f"}]


# -- what an import loads -------------------------------------------------------------------------------------------

RARE = frozenset(
    ("zipfile", "statistics", "fractions", "difflib", "timeit", "logging", "secrets", "hashlib", "pathlib", "json")
) | {"urllib.parse", "numpy.typing", "numpy.random", "unittest", "textual", "rich", "click", "ml_dtypes"}
"""Modules that few programs need; those that NumPy or another library itself needs do not count."""


def printed(code: str) -> list[str]:
    """Return the lines that a new process prints."""
    command = [sys.executable, "-c", dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@cache
def _loaded() -> frozenset[str]:
    """Return the modules whose code has run after an import."""
    found = printed(
        """
        import sys
        import dispatchviz.torch
        from dispatchviz.foundation.lazy_modules import is_unloaded
        print(*(name for name, module in sys.modules.items() if not is_unloaded(module)), sep="\\n")
        """
    )
    return frozenset(found)


def test_rare_modules_are_not_loaded() -> None:
    lazy = {f"dispatchviz.torch.{name}" for name in NAMES}
    assert not lazy & _loaded()
    below = tuple(f"{name}." for name in lazy)
    assert [name for name in _loaded() if name.startswith(below)] == []


def test_rare_modules_of_others_are_not_loaded() -> None:
    needed = printed("import msgspec, numpy, sys; print(*sys.modules, sep='\\n')")
    assert not (_loaded() - set(needed)) & RARE


@pytest.mark.parametrize(("dtype", "is_loaded"), [("float32", "False"), ("float16", "False"), ("bfloat16", "True")])
def test_only_bfloat16_loads_ml_dtypes(dtype: str, is_loaded: str) -> None:
    program = f"""
    import sys
    from dispatchviz import torch
    layer = torch.nn.Linear(3, 2, dtype=torch.{dtype})
    layer(torch.ones(4, 3, dtype=torch.{dtype})).sum().backward()
    torch.optim.Adam(layer.parameters()).step()
    layer.weight.sort()
    torch.finfo(torch.{dtype}), repr(layer.weight)
    print("ml_dtypes" in sys.modules)
    """
    assert printed(program) == [is_loaded]


def test_table_names_existing_modules() -> None:
    known = modules()
    assert {f"dispatchviz.torch.{name}" for name in NAMES} <= known.keys()
    assert {home for names in ATTRIBUTES.values() for home in names.values()} <= set(NAMES)


def test_the_collector_is_as_before() -> None:
    code = "import gc; gc.set_threshold({}); import dispatchviz.torch; print(gc.get_threshold(), gc.isenabled())"
    assert printed(code.format("600, 5, 7")) == ["(600, 5, 7) True"]
    assert printed(code.format("0, 5, 7")) == ["(0, 5, 7) True"]


# -- what a program sees of it --------------------------------------------------------------------------------------

SEEN = {
    "hasattr(torch, 'distributions'), 'fx' in dir(torch), 'jit' in vars(torch)": "(True, True, True)",
    "'torch.distributions' in sys.modules, isinstance(torch.fx, type(sys))": "(True, True)",
    "torch.distributions.Normal": "<class 'torch.distributions.normal.Normal'>",
    "'Normal' in dir(torch.distributions), 'Normal' in vars(torch.distributions)": "(True, True)",
    "torch.masked.__doc__": "'``torch.masked``",
    "importlib.import_module('torch.signal.windows') is torch.signal.windows": "True",
    "importlib.import_module('torch.nn.utils.prune').l1_unstructured": "<function l1_unstructured",
    "importlib.import_module('torch.autograd.gradcheck').GradcheckError.__name__": "'GradcheckError'",
    "torch.autograd.gradcheck": "<function gradcheck",
    "importlib.import_module('torch.optim').LBFGS": "<class 'torch.optim.lbfgs.LBFGS'>",
    "'Adagrad' in dir(torch.optim), hasattr(torch.optim, 'NAdam')": "(True, True)",
    "pickle.loads(pickle.dumps(torch.optim.Rprop)) is torch.optim.Rprop": "True",
    "[exec('from torch.optim import *', names := {}), names['Muon']][1]": "<class 'torch.optim._muon.Muon'>",
    "[setattr(torch.hub, 'mine', 3), torch.hub.mine, hasattr(torch.hub, 'get_dir')]": "[None, 3, True]",
    "type(torch.hub), type(torch.masked)": "(<class 'module'>, <class 'module'>)",
    "torch.optim.of_nobody": "AttributeError: torch.optim.of_nobody is not in dispatchviz's model of PyTorch",
    "torch.fx.of_nobody": "AttributeError: torch.fx.of_nobody is not in dispatchviz's model of PyTorch",
    "torch.jit.__of_nobody": "AttributeError: module 'torch.jit' has no attribute '__of_nobody'",
}
"""Expressions of a program that has just imported torch, in order, and the beginnings of their results."""


def test_a_program_sees_no_difference(tmp_path: Path) -> None:
    lines = ["import importlib, pickle, sys", "import torch"]
    for expression in SEEN:
        lines += ["try:", f"    print(repr(({expression})))"]
        lines += ["except AttributeError as error:", "    print('AttributeError:', error)"]
    program = tmp_path / "program.py"
    program.write_text("\n".join(lines))
    found = printed(f"from dispatchviz.running.program import run; run({str(program)!r})")
    assert [line[: len(shown)] for line, shown in zip(found, SEEN.values(), strict=True)] == list(SEEN.values())


LOADING = """
    import dispatchviz, sys
    import dispatchviz.torch as torch
    from dispatchviz.core.table.registry import process
    from dispatchviz.foundation.lazy_modules import is_unloaded
    from dispatchviz.torch._lazy_modules import NAMES
    from dispatchviz.torch.overrides import TorchFunctionMode
    from dispatchviz.torch.utils._python_dispatch import TorchDispatchMode

    class Functions(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            print("function", func)
            return func(*args, **(kwargs or {}))

    class Operators(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            print("operator", func)
            return func(*args, **(kwargs or {}))

    def registered():
        kernels = {op.name: {k: len(v) for k, v in op.registrations.items()} for op in process.operators.made()}
        return kernels, set(process.names()), dict(process.fallbacks), dict(process.owners)

    registered()
    before = registered()
    with Functions(), Operators(), torch.inference_mode(), dispatchviz.record() as trace:
        for name in NAMES:
            dir(sys.modules["dispatchviz.torch." + name])
    print([name for name in NAMES if is_unloaded(sys.modules["dispatchviz.torch." + name])])
    print({type(event).__name__ for event in trace})
    print(registered() == before)
    """


def test_loading_is_no_part_of_a_program() -> None:
    """Loading runs no operator, registers nothing and leaves nothing in a trace, in any mode."""
    assert printed(LOADING) == ["[]", "set()", "True"]


def test_threads_load_a_module_once() -> None:
    code = """
        import sys, threading
        import dispatchviz.torch as torch
        found, started = [], threading.Barrier(8)
        def use():
            started.wait()
            found.append((torch.distributions.Normal, torch.optim.LBFGS))
        threads = [threading.Thread(target=use) for _ in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(len(found), len(set(found)))
        """
    assert printed(code) == ["8 1"]


def test_pytest_in_a_recorded_program_does_not_warn_that_the_package_is_imported() -> None:
    assert AssertionRewriter.is_rewrite_disabled(dispatchviz.__doc__ or "")
