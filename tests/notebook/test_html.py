"""The saved output of a notebook: no code of a program runs in it, and without trust it is still readable."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser

import pytest

from dispatchviz.core.keys.key_set import DispatchKeySet
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.outputs.cell.html import key_set_html, player_frame
from dispatchviz.outputs.cell.trace_card import MOST, trace_html, trace_markdown, trace_svg, trace_text
from dispatchviz.outputs.page.in_notebook import notebook_player
from tests.explain.programs import traced
from tests.tui.programs import forum

VOID = {"img"}


class Elements(HTMLParser):
    """The elements of a page, which must be closed in order, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_card_says_what_ran_and_has_log_and_graph() -> None:
    page = Elements(trace_html(forum()))
    assert "on the model of PyTorch 2.14.1, cuda: emulated on NumPy" in page.text
    assert "call aten::add.Tensor → AutogradCUDA" in page.text
    assert set(page.names) <= {"div", "p", "details", "summary", "pre", "img"}
    image = next(attributes for name, attributes in page.attributes if name == "img")
    data = base64.b64decode(str(image["src"]).partition(",")[2]).decode()
    assert data == trace_svg(forum())
    assert image["alt"] == "The backward graph of forum.py"


def test_the_reason_of_an_error_comes_before_all_else() -> None:
    trace = traced("import torch\ntorch.ones(2) + torch.ones(3)\n")
    text = Elements(trace_html(trace)).text
    assert text.index("PyTorch says: ") < text.index("import torch")
    assert "PyTorch says" in trace_markdown(trace).partition("```")[0]


def test_texts_of_the_program_are_texts() -> None:
    trace = traced('import torch\nx = "<script>alert(1)</script> & ``` 🙂 \u202e"\nprint(x)\n')
    page = Elements(trace_html(trace))
    assert "script" not in page.names
    assert "<script>alert(1)</script> & ``` 🙂 \\u202e" in page.text
    assert "````" in trace_markdown(trace)


def test_a_program_without_a_graph_has_no_picture() -> None:
    trace = traced("import torch\n")
    assert trace_svg(trace) is None
    assert "img" not in Elements(trace_html(trace)).names
    assert trace._repr_svg_() is None


def test_a_long_log_is_cut_and_says_so() -> None:
    trace = traced(f"x = 1\n{'x = 2' + chr(10)}" * (MOST + 10))
    assert Elements(trace_html(trace, "lines")).text.count("x = 2") < MOST
    assert "show() opens the stepper" in trace_html(trace)


def test_a_player_is_a_frame_of_its_own_in_front_of_the_card() -> None:
    """The frame's page is the value of one attribute; without the frame the whole card is there."""
    page = "<!doctype html><title>\"quoted\" & 'so'</title><script>let a = 1 < 2 && 'x'</script>"
    card = trace_html(forum(), player=player_frame(page))
    found = Elements(card)
    assert found.names[:2] == ["div", "iframe"]
    frame = found.attributes[1][1]
    assert frame["srcdoc"] == page
    assert frame["sandbox"] == "allow-scripts allow-forms"
    assert "script" not in found.names
    without = Elements(re.sub(r"<iframe.*?</iframe>", "", card))
    assert "img" in without.names
    assert "call aten::add.Tensor" in without.text


def test_values_show_themselves() -> None:
    assert forum()._repr_html_() == trace_html(forum(), player=notebook_player(forum()))
    assert forum()._repr_markdown_() == trace_markdown(forum())
    assert repr(forum()) == trace_text(forum())
    assert repr(forum()).endswith(f": {len(forum())} steps>")
    graph = forum().backward_graph()
    assert graph._repr_svg_() == graph.svg()
    assert Elements(graph._repr_html_()).names == ["img"]
    assert repr(graph) == f"<Backward graph of forum.py: {len(graph)} Nodes>"


def test_other_pictures_are_images_as_well() -> None:
    """SVG alone is text in a notebook that is not trusted."""
    picture = forum().call_graph()
    image = Elements(picture._repr_html_()).attributes[0][1]
    assert base64.b64decode(str(image["src"]).partition(",")[2]).decode() == picture.svg()


def test_card_without_a_page_says_how_to_get_it() -> None:
    with_page = Elements(trace_html(forum(), player=notebook_player(forum()))).text
    assert "once the notebook is trusted" in with_page
    assert "trusted" not in Elements(trace_html(forum())).text


def test_a_key_set_is_a_table_highest_key_first() -> None:
    keys = DispatchKeySet([DispatchKey.CPU, DispatchKey.AutogradCPU, DispatchKey.BackendSelect])
    page = key_set_html(keys)
    assert Elements(page).names.count("tr") == 4
    assert re.findall("<tr><td[^>]*>(.*?)</td>", page) == ["AutogradCPU", "BackendSelect", "CPU"]
    assert "no keys" in Elements(key_set_html(DispatchKeySet())).text


def test_the_key_set_class_has_nothing_that_pytorchs_has_not() -> None:
    assert not hasattr(DispatchKeySet, "_repr_html_")


@pytest.mark.parametrize("level", ["lines", "keys", "all"])
def test_levels_choose_how_much_is_shown(level: str) -> None:
    assert ("key set" in Elements(trace_html(forum(), level)).text) == (level != "lines")
