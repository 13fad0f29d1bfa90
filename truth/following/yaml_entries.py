"""Entries of PyTorch's yaml files that a release changed, if we have them, and torchgen's stored texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from dispatchviz.explain.codegen.kept_texts import release
from truth import records
from truth.following import Left, some
from truth.recorders.source_digests import YAML, of_yaml, version, yaml_digests

NATIVE = Path(__file__).parents[2] / "dispatchviz/core/native"
TEXTS = "python -m scripts.torchgen_texts"

Entries = Mapping[str, Mapping[str, str]]


def left() -> Iterator[Left]:
    """Yield the changed entries."""
    before, after = records.read("source_digests")["yaml"], yaml_digests()
    for file, (_, schema) in YAML.items():
        ours = of_yaml((NATIVE / file).read_text("utf-8"), schema)
        then = f"change dispatchviz/core/native/{file}"
        yield from some(f"{file}: entries gone", sorted(gone(before[file], after[file], ours)), then)
        yield from some(f"{file}: entries changed", [*changed(before[file], after[file], ours)], then)
    if release() != version():
        yield Left("torchgen's texts", [f"of {release()}"], TEXTS)


def gone(before: Entries, after: Entries, ours: Iterable[str]) -> set[str]:
    """The entries that we have, and PyTorch has no longer."""
    return before.keys() & set(ours) - after.keys()


def changed(before: Entries, after: Entries, ours: Entries) -> Iterator[str]:
    """Yield entries that we have with the fields that differ. Kernels under keys that no entry of ours names do not
    count.
    """
    named = {field for entry in ours.values() for field in entry if field.startswith("dispatch ")}
    for name in sorted(before.keys() & after.keys() & ours.keys()):
        fields = [
            field for field in {**before[name], **after[name]} if before[name].get(field) != after[name].get(field)
        ]
        if counted := [field for field in fields if field in named or not field.startswith("dispatch ")]:
            yield f"{name} ({'; '.join(counted)})"
