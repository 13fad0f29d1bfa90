"""Scripts and style sheets without spaces and comments."""

from __future__ import annotations

from dispatchviz.outputs.page.lean_assets import lean_script, lean_style


def test_script_loses_spaces_and_comments_but_no_part_of_a_text() -> None:
    written = """\
// -- A part --
/** Say it. */
const say = ({ a, b = 2 }) => {
  told("a = b, c"); // a remark
  return a && !b ? `x = ${a}, ${{ y: 1 }.y} = ${b ? ` : ${a}` : ""}` : a - -b;
};
"""
    assert lean_script(written) == (
        'const say=({a,b=2})=>{told("a = b, c");'
        'return a&&!b?`x = ${a}, ${{ y: 1 }.y} = ${b ? ` : ${a}` : ""}`:a - -b;};'
    )


def test_style_sheet_loses_spaces_and_comments() -> None:
    assert lean_style("a { color: red; } /* a remark */\nb, c { margin: 0 1em; }\n") == (
        "a{color:red}b,c{margin:0 1em}"
    )
