"""todo"""

from dispatchviz.tui.text import line


def rows(trace, at):
    return [line("todo")]
