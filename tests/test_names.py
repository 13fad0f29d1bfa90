"""Every name that learners look for is shown where ``docs/lists/names.md`` says, and is a name of PyTorch's."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from scripts.names.__main__ import PAGE
from scripts.names.name_list import names
from scripts.names.page import rows
from scripts.names.places import has, text_of
from tests.header_names import declared_names

NOT_AS_THEY_STAND = {
    "alias key": "prose",
    "wrapper_CUDA_add_Tensor": "in builds with CUDA",
    "TensorFactories.cu": "in builds with CUDA",
    "python_torch_functions_2.cpp": "a part of a longer name in the library of 2.14",
}
"""The names that no file of PyTorch needs to have."""

ROWS = rows(PAGE.read_text("utf-8"))


def test_each_name_has_a_row() -> None:
    """The rows are in the order of the list; ``python -m scripts.names`` writes them."""
    assert [name for name, _ in ROWS] == [name.text for name in names()]


@pytest.mark.parametrize("command", sorted({command for _, command in ROWS}))
def test_command_in_a_row_shows_the_name(command: str) -> None:
    text = text_of(command)
    assert [name for name, typed in ROWS if typed == command and not has(text, name)] == []


def test_a_name_is_found_as_a_word_of_its_own() -> None:
    assert has("it is `set_output`, not", "set_output")
    assert not has("set_output_strided", "set_output")
    assert not has("torch/csrc/autograd/function.h", "function")


def test_the_names_that_a_header_declares() -> None:
    header = """
    namespace a {
    struct Other;  // not: Comment
    using b::Named;
    using list = std::vector<Other>;
    /* void gone(); */
    template <class T>
    struct TORCH_API Node : Base<T> {
     public:
      explicit Node(int number = f()) : number_(number) { if (number) { inner(); } }
      Node(const Node&) = delete;
      virtual list operator()(list&& inputs) const { return apply(inputs); }
      std::unordered_map<int, std::unique_ptr<Other>>& hooks() noexcept;
     private:
      mutable bool flag_ = false;
      std::unordered_map<int, int>
          map_;
    };
    inline void free(Other x) { local(x); }
    }
    """
    expected = ["Other", "Named", "list", "Node", "operator()", "hooks", "flag_", "map_", "free"]
    assert declared_names(header) == expected


# -- PyTorch's ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed() -> list[bytes | mmap.mmap]:
    """Return all parts of an installation with names: headers, the code generators with their templates, libraries."""
    return [*map(Path.read_bytes, _sources()), *map(_mapped, _libraries())]


def _folder(module: str) -> Path:
    spec = find_spec(module)
    if spec is None:
        pytest.skip(f"could not find {module}")
    assert spec.origin is not None
    return Path(spec.origin).parent


def _sources() -> Iterator[Path]:
    include = _folder("torch") / "include"
    yield from (path for part in ("torch/csrc", "ATen", "c10") for path in sorted((include / part).rglob("*.h")))
    generators = _folder("torchgen")
    yield from (path for path in sorted(generators.rglob("*")) if path.suffix in (".py", ".h", ".cpp", ".yaml"))


def _libraries() -> Iterator[Path]:
    yield from (_folder("torch") / "lib" / name for name in ("libtorch_cpu.so", "libtorch_python.so", "libc10.so"))


def _mapped(library: Path) -> mmap.mmap:
    with library.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


@pytest.mark.torch
@pytest.mark.parametrize("gone", [False, True])
def test_pytorch_has_the_names_that_are_not_gone_and_no_other(installed: list[bytes | mmap.mmap], gone: bool) -> None:
    asked = [name.text for name in names() if name.gone is gone and name.text not in NOT_AS_THEY_STAND]
    assert [text for text in asked if any(_has_word(text.encode(), part) for part in installed) is gone] == []


def _has_word(name: bytes, text: bytes | mmap.mmap) -> bool:
    """Return whether a text has the name as a separate word, or mangled after its length."""
    last = name.rpartition(b"::")[2]
    at = text.find(last)
    while at >= 0:
        before, after = text[max(at - 3, 0) : at], text[at + len(last) : at + len(last) + 1]
        if before.endswith(str(len(last)).encode()) or not (_is_word(before[-1:]) or _is_word(after)):
            return True
        at = text.find(last, at + 1)
    return False


def _is_word(character: bytes) -> bool:
    return character.isalnum() or character == b"_"


@pytest.mark.torch
@pytest.mark.parametrize("header", ["node.h", "function.h"])
def test_every_declaration_in_the_headers_of_node_is_listed(header: str) -> None:
    text = (_folder("torch") / "include/torch/csrc/autograd" / header).read_text("utf-8")
    listed = {name.text.removesuffix("()") for name in names()} | {"operator()"}
    declared = declared_names(text)
    assert [name for name in declared if name not in listed] == []
    assert len(declared) > 9
