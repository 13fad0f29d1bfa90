"""The registrations of older releases are restored exactly, and their tables are computed by their own rules."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from dispatchviz.core.keys.keys import ALIAS_MEMBERS, RUNTIME_KEYS, DispatchKey
from dispatchviz.core.table.past_registrations import known_releases
from dispatchviz.core.table.pytorch_registrations import pytorch_registry
from dispatchviz.explain.cells.computed_table import MISSING, SKIPPED, Row, table_card
from dispatchviz.explain.cells.releases.release import Release, all_releases, release_named
from dispatchviz.explain.cells.releases.release_cards import release_entry, release_table
from dispatchviz.explain.cells.why_cell import cell_answer
from dispatchviz.explain.keys.key_layouts import layout_of
from dispatchviz.foundation.pytorch_release import MINOR, OLDEST, RELEASE
from truth import records
from truth.formats import past_registrations_file, registrations_file
from truth.recorders.past_releases import DIGITS

pytestmark = pytest.mark.record("past_releases")

RECORDED: dict[str, Any] = records.read("past_releases")

releases = pytest.mark.parametrize("release", [*all_releases()], ids=known_releases())
past_releases = pytest.mark.parametrize("minor", RECORDED)


def test_each_recorded_release_and_that_of_the_model_are_known() -> None:
    assert known_releases() == (*RECORDED, MINOR)
    assert known_releases()[0] == OLDEST
    assert [release.number for release in all_releases()] == [*(one["torch"] for one in RECORDED.values()), RELEASE]


@past_releases
def test_registrations_of_a_release_are_restored_exactly(minor: str) -> None:
    text = past_registrations_file.read()[minor]
    assert hashlib.sha256(text.encode()).hexdigest() == RECORDED[minor]["registrations"]
    assert registrations_file.text(registrations_file.parsed(text)) == text
    assert list(release_named(minor).text.lines) == [one.name for one in registrations_file.parsed(text).operators]


@pytest.mark.long
@past_releases
def test_every_table_of_a_release_has_its_digest(minor: str) -> None:
    """Compare each entry: the kernel, PyTorch's reason, and whether calls skip it."""
    release, recorded = release_named(minor), RECORDED[minor]
    registry = release.registry(recorded["build"])
    tables = {name: release.rows(registry.operators[name], recorded["build"]) for name in release.text.lines}
    wanted = [recorded["tables"][at : at + DIGITS] for at in range(0, len(recorded["tables"]), DIGITS)]
    found = {name: digest(rows) for name, rows in tables.items()}
    assert {name for (name, one), other in zip(found.items(), wanted, strict=True) if one != other} == set()
    assert sum(row.state != MISSING for rows in tables.values() for row in rows) == recorded["cells"]
    assert {len(rows) for rows in tables.values()} == {len(release.keys)}


def digest(rows: tuple[Row, ...]) -> str:
    """The digest of a table, as ``truth/recorders/dispatch_tables.py`` computes it."""
    valid = (row for row in rows if row.state != MISSING)
    lines = (f"{row.key}: {row.registered} {row.reason} {row.state == SKIPPED}\n" for row in valid)
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:DIGITS]


@releases
def test_keys_are_in_the_order_of_the_header_of_that_release(release: Release) -> None:
    """The header files were read for the layouts, the registrations from the installed release."""
    header = layout_of(release.minor)
    assert header is not None
    assert (release.layout.backends, release.layout.keys) == (header.backends, header.keys)
    assert set(header.aliases) == set(release.text.members)
    assert set(release.keys) <= {*release.text.numbers}


@releases
def test_rules_that_are_not_read_from_a_release_hold_in_it(release: Release) -> None:
    """No alias includes a key that the model does not have. No operator has a kernel for MAIA, which was a backend of
    AutogradOther before it had an autograd key of its own.
    """
    unknown = {key for key in release.keys if key not in DispatchKey.__members__}
    assert unknown == (set() if release.minor in ("2.13", MINOR) else {"Named"})
    assert not unknown & {key for members in release.text.members.values() for key in members}
    assert release.text.operators_with("MAIA", True) == frozenset()


def test_aliases_have_the_keys_of_their_release() -> None:
    assert "Functionalize" in release_named("2.9").text.members["CompositeImplicitAutograd"]
    newest = {DispatchKey[alias]: keys for alias, keys in release_named(MINOR).text.members.items()}
    assert {alias: frozenset(map(str, keys)) for alias, keys in ALIAS_MEMBERS.items()} == {
        alias: frozenset(keys) for alias, keys in newest.items()
    }


def test_tables_and_entries_of_the_models_release_are_those_of_the_model() -> None:
    """The same functions give the model's own answers for its release."""
    newest, ours = release_named(MINOR), pytorch_registry("cuda")
    theirs = newest.registry("cuda")
    for name in [*newest.text.lines][::97]:
        table, own = release_table(newest, theirs.find(name), "cuda"), table_card(ours.find(name), "cuda")
        assert [row[:-1] for row in table.rows] == [row[:-1] for row in own.rows]
        assert table._replace(rows=()) == own._replace(rows=())
        for key in ("CPU", "AutogradCUDA", "Meta", "BackendSelect"):
            entry = release_entry(newest, theirs.find(name), "cuda", key)
            answer = cell_answer(ours.find(name), DispatchKey[key], ours)
            assert entry[:8] == answer[:8]
            assert entry.claims == answer.claims
    assert newest.keys == tuple(map(str, RUNTIME_KEYS))


def test_a_key_that_the_model_lacks_has_its_entry() -> None:
    release = release_named("2.9")
    registry = release.registry("cpu")
    own = release_entry(release, registry.find("aten::add.Tensor"), "cpu", "Named")
    assert (own.kernel, own.reason, own.source) == ("fallthrough_kernel", "kernel", "Named")
    assert own.called[0].startswith("No call reaches this entry")
    fallback = release_entry(release, registry.find("aten::ldexp.Tensor"), "cpu", "Named")
    assert (fallback.kernel, fallback.reason) == ("named_not_supported_kernel", "backend fallback")
    assert [claim.taken for claim in fallback.claims] == [False, True]


def test_a_place_that_an_old_release_does_not_report_is_explained() -> None:
    release = release_named("2.8")
    entry = release_entry(release, release.registry("cpu").find("aten::__ilshift__.Tensor"), "cpu", "Meta")
    assert "/dev/null means that Python registered the kernel" in entry.why


def test_an_empty_entry_raises() -> None:
    release = release_named("2.7")
    entry = release_entry(release, release.registry("cpu").find("aten::add.Tensor"), "cpu", "XLA")
    assert "Could not run 'aten::add.Tensor' with arguments from the 'XLA' backend" in entry.called[0]
    assert entry.table.startswith("91 of the 132 entries")
