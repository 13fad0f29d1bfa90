"""`make quick` tests what changed, the nearest first."""

from __future__ import annotations

import subprocess
from pathlib import Path

import grimp
import pytest

from scripts import quick


@pytest.fixture
def graph() -> grimp.ImportGraph:
    """A graph with tests that import a module directly, through another one, and not at all."""
    graph = grimp.ImportGraph()
    for importer, imported in [
        ("dispatchviz.b", "dispatchviz.a"),
        ("tests.test_b", "dispatchviz.b"),
        ("tests.sub.test_a", "dispatchviz.a"),
        ("tests.other.test_panes", "dispatchviz.panes.pane_list"),
    ]:
        graph.add_import(importer=importer, imported=imported)
    for name in (
        "dispatchviz.panes",
        "dispatchviz.panes.node_pane",
        "tests.test_apart",
        "tests.sub",
        "tests.sub.conftest",
    ):
        graph.add_module(name)
    return graph


@pytest.mark.parametrize(("changed", "tests"), [
    ("dispatchviz/a.py", ["tests.sub.test_a", "tests.test_b"]),
    ("dispatchviz/panes/node_pane.py", ["tests.other.test_panes"]),
    ("dispatchviz/panes/styles.tcss", ["tests.other.test_panes"]),
    ("tests/test_apart.py", ["tests.test_apart"]),
    ("tests/sub/conftest.py", ["tests.sub.test_a"]),
    ("README.md", []),
])  # fmt: skip
def test_the_tests_of_a_change_are_those_that_import_it(
    changed: str, tests: list[str], graph: grimp.ImportGraph
) -> None:
    assert list(quick.nearest_tests(graph, [quick.module(changed)])) == tests


def test_tests_beyond_the_budget_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Path(__file__).read_text("utf-8").count("\ndef test_")
    monkeypatch.setattr(quick, "MOST", own)
    assert quick.within_budget(["tests.test_quick", "tests.test_errors"]) == (["tests/test_quick.py"], own, 1)


def test_committed_edited_and_new_files_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    monkeypatch.setattr(quick, "ROOT", tmp_path)
    git("init", "-b", "main")
    for name in ("a", "b"):
        (tmp_path / name).write_text("1")
        git("add", ".")
        git("commit", "-m", name)
    assert quick.changed_files() == ["b"], "on main the last commit counts"
    git("checkout", "-b", "topic")
    (tmp_path / "c").write_text("1")
    git("add", ".")
    git("commit", "-m", "c")
    (tmp_path / "a").write_text("2")
    (tmp_path / "d").write_text("1")
    assert quick.changed_files() == ["a", "c", "d"]


def test_a_test_that_starts_a_process_or_an_app_is_skipped(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("from tests.conftest import pytest_addoption, starts_nothing")
    pytester.makepyfile("""
        import subprocess, sys

        def test_process():
            subprocess.run([sys.executable, "-c", ""], check=True)

        def test_app():
            from textual.app import App
            App().run_test()

        def test_quick():
            pass
    """)
    pytester.runpytest("--start-nothing", "-p", "no:cacheprovider").assert_outcomes(passed=1, skipped=2)
