"""The picture of the classes of a structured kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.explain.codegen.structured_classes import Family, family_of
from dispatchviz.outputs.picture.structured_picture import class_drawing, render
from dispatchviz.outputs.picture.svg import RenderError, plain, svg, texts


def family(name: str) -> Family:
    found = family_of(name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["add.Tensor", "mm", "max.dim"])
def test_each_class_has_a_box_and_an_arrow_to_its_base(name: str) -> None:
    drawn = class_drawing(family(name))
    classes = family(name).classes
    assert drawn.boxes == len(classes)
    assert drawn.edges == sum(bool(each.base) for each in classes) == len(classes) - 1
    shown = [plain(text) for text in texts(svg(drawn))]
    assert all(shown.count(each.name) == sum(other.name == each.name for other in classes) for each in classes)


def test_the_boxes_say_what_is_overridden_and_for_which_operator_an_object_is_made() -> None:
    shown = [plain(text) for text in texts(svg(class_drawing(family("add.Tensor"))))]
    assert "for aten::add_.Tensor at CPU" in shown
    assert "● set_output_strided: check_inplace(outputs_[i]," in shown
    assert "proxy_outputs_: std::array<std::optional<Tensor>, 1>" in shown


def test_arrows_lead_to_the_class_that_is_inherited_from() -> None:
    """Two keys share ``structured_max_out``, and classes of the same names."""
    source = class_drawing(family("max.dim")).source
    shared = next(n for n, each in enumerate(family("max.dim").classes) if each.name.endswith("::structured_max_out"))
    assert source.count(f"  c{shared} -> ") == 4


@pytest.mark.parametrize(
    ("name", "begins"), [("a.svg", b"<?xml"), ("a.dot", b"digraph classes"), ("a.png", b"\x89PNG")]
)
def test_the_suffix_says_what_is_written(tmp_path: Path, name: str, begins: bytes) -> None:
    render(family("mm"), str(tmp_path / name))
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_what_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(RenderError, match="the suffix must be one of"):
        render(family("mm"), str(tmp_path / "a.txt"))
    with pytest.raises(RenderError, match="No such file or directory"):
        render(family("mm"), str(tmp_path / "none/a.svg"))
