"""The explanations of the messages in a pasted text: a traceback, a log, a mail."""

from __future__ import annotations

from typing import NamedTuple

from dispatchviz.core.table.registry import Registry
from dispatchviz.explain.diagnosis.messages.error_message import ErrorAnswer, explain
from dispatchviz.explain.diagnosis.messages.error_parser import find_message
from dispatchviz.explain.diagnosis.messages.operators import OF_KERNELS
from dispatchviz.explain.diagnosis.messages.table import MESSAGES, Found, found_in, pasted
from dispatchviz.foundation.errors import DispatchvizError


class Explained(NamedTuple):
    """A message and its explanation."""

    found: Found
    kernel: ErrorAnswer | None
    """The explanation of the operator's table in a message about a missing kernel."""

    @property
    def fixes(self) -> tuple[str, ...]:
        """The fixes. For a missing kernel, those for this operator and key."""
        return self.kernel.todo if self.kernel is not None else (self.found.message.fix,)


def explained(text: str, where: str, registry: Registry) -> list[Explained]:
    """Return all known messages of a text, in order. Raise DispatchvizError if it has none."""
    text = pasted(text)
    found = found_in(text)
    if not found:
        raise DispatchvizError(
            f"found no known error in {where}. docs/lists/messages.md lists the {len(MESSAGES)} known messages of "
            "autograd, of the dispatcher, and of the checks of shapes, indices, dtypes and devices. Give the text of "
            "the message itself, or the program: dispatchviz why SCRIPT"
        )
    ends = [*(each.start for each in found[1:]), len(text)]
    return [
        Explained(each, _kernel(each, text[each.start : end], registry)) for each, end in zip(found, ends, strict=True)
    ]


def _kernel(found: Found, text: str, registry: Registry) -> ErrorAnswer | None:
    message = find_message(text) if found.message.kind in OF_KERNELS else None
    return explain(message, registry) if message is not None else None
