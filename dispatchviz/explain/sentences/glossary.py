"""The terms of the dispatcher and of autograd: their meanings, and the PyTorch files that define them.

One list for the stepper, the page and the documentation.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple


class Term(NamedTuple):
    """A term."""

    name: str
    meaning: str
    """One to three sentences."""
    file: str
    """The file of PyTorch that defines it."""
    words: str
    """A regular expression for the words that stand for the term in a text."""
    in_prose: str = ""
    """The words that are marked in a sentence, if not all of ``words``: no names, and no words with another meaning."""


TERMS = (
    Term(
        "boxed kernel",
        "A kernel that takes its arguments from a stack of values and puts its results back there. It works for "
        "operators of any signature. A fallback is boxed: one function serves all operators.",
        "ATen/core/boxing/KernelFunction.h",
        r"\bboxed\b|callBoxed|redispatchBoxed",
        r"\bboxed(?: kernels?)?\b",
    ),
    Term(
        "dispatch key",
        "A name for one layer of a call: a backend such as CUDA, or a task such as autograd. Each has a place in the "
        "order of keys.",
        "c10/core/DispatchKey.h",
        r"\bkeys?\b",
        r"\b(?:dispatch )?keys?\b(?! set)",
    ),
    Term(
        "dispatch table",
        "The kernels of one operator, one entry for each key. PyTorch computes it when a kernel is registered, not "
        "when the operator is called.",
        "ATen/core/dispatch/OperatorEntry.h",
        r"\btable\b",
        r"\bdispatch table\b|\boperator's table\b",
    ),
    Term(
        "fallthrough",
        'A registered entry that means "go on to the next key". The operator\'s mask removes such keys from the set '
        "before the highest one is chosen, so a fallthrough never runs.",
        "ATen/core/dispatch/DispatchKeyExtractor.h",
        r"\bfallthroughs?\b",
    ),
    Term(
        "guard",
        "An object that changes the thread-local include and exclude sets as long as it exists. Autograd kernels "
        "exclude the autograd keys this way, so that calls within them are not recorded again.",
        "c10/core/impl/LocalDispatchKeySet.h",
        r"\bguards?\b",
    ),
    Term(
        "kernel",
        "The function that a table entry holds. Some kernels compute a result. Others do one task, such as "
        "recording a Node, and redispatch.",
        "ATen/core/boxing/KernelFunction.h",
        r"\bkernels?\b",
    ),
    Term(
        "key set",
        "The dispatch keys that apply to a call, as 64 bits: those of the tensor arguments, plus the thread-local "
        "include set, minus the thread-local exclude set. The highest key that remains selects the kernel.",
        "c10/core/DispatchKeySet.h",
        r"\bkey sets?\b",
    ),
    Term(
        "leaf",
        "A tensor without a grad_fn: no recorded operator computed it. A backward pass writes .grad of the leaves that "
        "require grad.",
        "torch/csrc/autograd/variable.h",
        r"\b(?:leaf|leaves)\b",
    ),
    Term(
        "Node",
        "The record of one operator in the backward graph. It knows the formula of the gradient, keeps what the "
        "formula needs, and has an edge to the Node of each input. A tensor's Node is its grad_fn.",
        "torch/csrc/autograd/node.h",
        r"\bNodes?\b|\b\w+Backward\d+\b|\bgrad_fn\b",
        r"\bNodes?\b",
    ),
    Term(
        "redispatch",
        "A call that a kernel makes of its own operator with a smaller key set, so that the kernel of the next key "
        "runs. The kernel passes the key set on, and PyTorch does not compute it again from the arguments and the "
        "thread.",
        "ATen/core/dispatch/Dispatcher.h",
        r"\bredispatch(?:es|ed)?\b",
    ),
    Term(
        "saved tensor",
        "A tensor that a Node keeps for its formula, together with its version at that time. When the Node runs, "
        "PyTorch compares the versions and raises an error if the tensor was changed in place since.",
        "torch/csrc/autograd/saved_variable.h",
        r"\bsaved?\b",
        r"\bsaved tensors?\b",
    ),
    Term(
        "sequence number",
        "The number that a Node gets when it is created. It counts up in each thread. When several Nodes are ready, "
        "the engine runs the one with the highest number first.",
        "torch/csrc/autograd/node.h",
        r"\bsequence number\b|\bseq\b",
        r"\bsequence numbers?\b",
    ),
    Term(
        "version",
        "A counter that every in-place change of a tensor increases by one. All views of one memory share it, but "
        ".data has its own counter.",
        "c10/core/TensorImpl.h",
        r"\bversions?\b",
    ),
)
"""The terms, in alphabetical order."""


def terms_in(text: str) -> list[Term]:
    """The terms that a text uses."""
    return [term for term in TERMS if re.search(term.words, text)]


def _prose() -> re.Pattern[str]:
    """One expression for all terms, a group each. The longer of two terms that begin at one place comes first. A look
    at the first letter skips most words.
    """
    by_length = sorted(enumerate(TERMS), key=lambda each: -len(each[1].name))
    patterns = {number: term.in_prose or term.words for number, term in by_length}
    groups = (f"(?P<t{number}>{pattern})" for number, pattern in patterns.items())
    return re.compile(rf"\b(?=[bdfgklNorsv])(?:{'|'.join(groups)})")


PROSE = _prose()

NO_PROSE = re.compile(r"`[^`]*`|\"[^\"]*\"|\bline \d+ \(.*?\)(?=[\s,.;:]|$)")
"""Code and quotations in a sentence."""

BEFORE, BEHIND = re.compile(r"[.\[=/']$|\w\($"), re.compile(r"[\[(=/]|\.\w|'(?!s\b)")
"""Characters that make the word beside them a part of code."""


class Use(NamedTuple):
    """A term in a sentence."""

    begin: int
    end: int
    term: Term


@lru_cache(maxsize=2048)
def uses(text: str) -> tuple[Use, ...]:
    """The terms that the prose of a text uses, in order."""
    code = [found.span() for found in NO_PROSE.finditer(text)]
    return tuple(
        Use(*found.span(), TERMS[int((found.lastgroup or "t0")[1:])])
        for found in PROSE.finditer(text)
        if not _is_name(text, *found.span()) and not any(begin <= found.start() < end for begin, end in code)
    )


def _is_name(text: str, begin: int, end: int) -> bool:
    """Return whether a word is a part of code: ``f(key)``, ``x.key``, ``table[0]``."""
    return BEFORE.search(text[max(begin - 2, 0) : begin]) is not None or BEHIND.match(text, end) is not None
