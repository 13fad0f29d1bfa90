"""What a Node's card says of PyTorch's classes stands in the headers of the installed PyTorch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from dispatchviz.core.autograd.graph.node import TraceableFunction
from dispatchviz.core.generated import nodes
from dispatchviz.explain.graph.node import members
from dispatchviz.explain.graph.node.node_hooks import HOOK_KINDS
from dispatchviz.explain.graph.node.node_state import node_state

torch = pytest.importorskip("torch")

INCLUDE = Path(torch.__file__).parent / "include"

BOOKKEEPING = re.compile("retain_variables|.*_released_")
"""Members of Nodes that save lists: what was released."""


class Declared(NamedTuple):
    """A class of Functions.h."""

    base: str
    tensors: frozenset[str]
    values: frozenset[str]


@cache
def classes() -> dict[str, Declared]:
    text = (INCLUDE / "torch/csrc/autograd/generated/Functions.h").read_text("utf-8")
    found = re.finditer(r"struct TORCH_API (\w+) : public (\w+) \{\n#endif(.*?)\n\};", text, re.DOTALL)
    return {name: Declared(base, *map(frozenset, _members(body))) for name, base, body in (m.groups() for m in found)}


def _members(body: str) -> tuple[list[str], list[str]]:
    declared = re.findall(r"^  ([\w:<>, ]+?) (\w+)(?: = [^;]+)?;$", body, re.MULTILINE)
    own = [(kind, name) for kind, name in declared if kind != "using" and not BOOKKEEPING.fullmatch(name)]
    tensors = [name.removesuffix("_") for kind, name in own if "SavedVariable" in kind]
    return tensors, [name for kind, name in own if "SavedVariable" not in kind]


def ours() -> Iterator[str]:
    return (name for name in classes() if hasattr(nodes, name))


def test_all_classes_keep_what_pytorchs_keep() -> None:
    different = {}
    for name in ours():
        declared, state = classes()[name], node_state(name)
        assert state is not None
        if (frozenset(state.tensors), frozenset(state.values)) != declared[1:]:
            different[name] = declared, state
    assert different == {}
    assert len(list(ours())) > 400


def test_classes_are_traceable_as_pytorchs_are() -> None:
    bases = {
        name: "TraceableFunction" if issubclass(getattr(nodes, name), TraceableFunction) else "Node" for name in ours()
    }
    assert bases == {name: classes()[name].base for name in bases}


@pytest.mark.parametrize("member", members.ALL, ids=lambda member: member.name)
def test_every_member_is_declared(member: members.Member) -> None:
    text = (INCLUDE / member.file.removeprefix("aten/src/")).read_text("utf-8")
    assert re.search(rf"(?<!\w){re.escape(member.name)}(?!\w)", text)


def test_the_members_of_hooks_are_declared() -> None:
    text = (INCLUDE / members.NODE).read_text("utf-8")
    assert [member for _, member, _ in HOOK_KINDS if not re.search(rf"\b{member}\(\)", text)] == []
    assert "NoNamesGuard" not in text
