"""The names of tensors and Nodes: the user's variable if there is one, else their number.

A plain name such as ``z`` is valid as of the step: from the binding by the program until the variable gets another
tensor. Before that the name is ``z (t4)``: the tensor that ``z`` will name. Afterwards it is ``loss@3``: the tensor
that ``loss`` named in the third iteration of its line. Without iterations it is ``earlier z (t4)``.

A tensor that never has a variable is named after a tensor that is one step away (``derived_names.py``): ``w.T``, ``x
before .cuda()``. The second is not an expression, so code (``code_name``, ``with_names``) has the number instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.derived_names import BEFORE, TRANSPOSED, derived
from dispatchviz.explain.trace_index.trace_index import Index, index
from dispatchviz.foundation.english import listed, plain_dtype, shaped

MANY = 6
"""The number of tensors from which a sentence names only the first two."""

GRAD = ".grad"

DEEPEST = 8
"""The greatest number of nested gradients in a name. In a damaged trace a tensor may be its own gradient."""

_NUMBERED = re.compile(r"\bt(\d{1,18})\b")


def tensor_name(trace: Trace, tensor: int, at: int) -> str:
    """Return the user's name of a tensor as of a step: ``x``, ``x.grad``; else ``z (t5)``, ``x@3``, ``0.1``, ``x.T``,
    ``x before .cuda()``, or ``t5``.
    """
    known = index(trace).display_names(at)
    try:
        return known[tensor]
    except KeyError:
        name = known[tensor] = _found_name(trace, tensor, at)
        return name


def _found_name(trace: Trace, tensor: int, at: int) -> str:
    named, grads, name = _known_name(trace, tensor, at)
    name = name or _other_name(trace, named, at)
    return f"({name}){grads}" if grads and BEFORE in name else name + grads


def code_name(trace: Trace, tensor: int, at: int) -> str:
    """Return the name for use in code: ``t5`` for a tensor that only words describe."""
    named, grads, name = _known_name(trace, tensor, at)
    name = name or _other_name(trace, named, at)
    return (f"t{named}" if BEFORE in name else name) + grads


def attribute(name: str, of: str) -> str:
    """Return the name of an attribute: ``x.grad``, ``(x before .cuda()).grad``."""
    return f"({name}).{of}" if BEFORE in name else f"{name}.{of}"


def grad_name(trace: Trace, tensor: int, at: int) -> str:
    """Return the name of a tensor's ``.grad``: ``x.grad``."""
    return attribute(tensor_name(trace, tensor, at), "grad")


def numbered(trace: Trace, tensor: int, at: int) -> str:
    """Return the name, with the number if the name does not include it and the tensor has no variable: ``x.T (t5)``."""
    name, number = tensor_name(trace, tensor, at), f"t{tensor}"
    is_known = name.endswith((number, f"({number})")) or index(trace).names.get(tensor) is not None
    return name if is_known or derived(trace, tensor) is None else f"{name} ({number})"


def _known_name(trace: Trace, tensor: int, at: int) -> tuple[int, str, str]:
    """Return the tensor itself, or the leaf whose ``.grad`` it is, the suffix: empty, ``.grad`` or ``.grad.grad``, and
    the variable that names it now; empty if none does.
    """
    known, grads = index(trace), ""
    name = known.name(tensor, at)
    while not name and len(grads) < len(GRAD) * DEEPEST:
        leaf = _leaf(known, tensor, at)
        if leaf is None:
            break
        tensor, grads = leaf, grads + GRAD
        name = known.name(tensor, at)
    return tensor, grads, known.shown(name) if name else ""


def _other_name(trace: Trace, tensor: int, at: int) -> str:
    """Return the name of a tensor that no variable names now."""
    known = index(trace)
    made = known.tensors.get(tensor)
    if made is not None and made.wrapped_number:
        return made.value or f"the number t{tensor}"
    if coming := known.coming_name(tensor, at):
        return f"{known.shown(coming)} (t{tensor})"
    lost, iteration = known.lost_name(tensor, at)
    if iteration:
        return f"{lost}@{iteration}"
    return f"earlier {known.shown(lost)} (t{tensor})" if lost else _derived_name(trace, tensor, at) or f"t{tensor}"


def _derived_name(trace: Trace, tensor: int, at: int) -> str:
    """Return the name based on the tensor that is one step away; empty if there is no such tensor with a name."""
    found = derived(trace, tensor)
    if found is None:
        return ""
    known = index(trace)
    if name := known.name(found.tensor, at):
        return known.shown(name) + found.suffix
    lost, iteration = known.lost_name(found.tensor, at)
    if iteration:
        return f"{lost}@{iteration}{found.suffix}"
    if found.suffix == TRANSPOSED:
        return ""
    if lost:
        return f"earlier {known.shown(lost)}{found.suffix} (t{tensor})"
    coming = known.coming_name(found.tensor, at)
    number = "" if known.holder(coming, at) is None else f" (t{tensor})"  # it may have had another name
    return f"{known.shown(coming)}{found.suffix}{number}" if coming else ""


def _leaf(known: Index, tensor: int, at: int) -> int | None:
    """Return the leaf whose ``.grad`` a tensor is as of a step."""
    leaf = known.leaves.get(tensor)
    if leaf is None or leaf == tensor:
        return None
    return leaf if known.is_gradient(tensor, leaf, at) else None


def tensor_names(trace: Trace, tensors: Iterable[int], at: int) -> str:
    """Return a list of names, each tensor once: ``x``, ``x and y``; of many the first two: ``x, y and 11 more``."""
    names = [tensor_name(trace, tensor, at) for tensor in dict.fromkeys(tensors)]
    return listed(names if len(names) < MANY else [*names[:2], f"{len(names) - 2} more"])


def described(trace: Trace, tensor: int, at: int) -> str:
    """Return shape, dtype and device as of a step: ``[2, 2] float32 on cuda:0``; empty if the trace does not have
    them.
    """
    made, shape = index(trace).tensors.get(tensor), index(trace).shape(tensor, at)
    return "" if made is None or shape is None else f"{shaped(shape)} {plain_dtype(made.dtype)} on {made.device}"


def node_name(trace: Trace, node: int, at: int | None = None) -> str:
    """Return the name of a Node: ``AddBackward0 (n3)``. An AccumulateGrad shows its leaf: ``AccumulateGrad (x)``."""
    made = index(trace).nodes.get(node)
    leaf = leaf_of(trace, node, at)
    return f"{plain_node(made.name) if made else 'Node'} ({leaf or f'n{node}'})"


def node_title(trace: Trace, node: int, at: int | None = None) -> str:
    """Return the name of a Node, without the number if it is the only Node of that name in the trace:
    ``AddBackward0``.
    """
    known = index(trace)
    made = known.nodes.get(node)
    if made is None or node in known.accumulators or known.node_names.get(made.name, 0) > 1:
        return node_name(trace, node, at)
    return plain_node(made.name)


def leaf_of(trace: Trace, node: int, at: int | None = None) -> str:
    """Return the name of the leaf of an AccumulateGrad; empty for other Nodes. Without a step: as of its creation."""
    made = index(trace).accumulators.get(node)
    if made is None:
        return ""
    since = max(made.seq, at or 0)
    late = at is None and index(trace).coming_name(made.tensor, since)
    return tensor_name(trace, made.tensor, len(trace) - 1 if late else since)


def plain_node(name: str) -> str:
    """Return the name without namespaces: ``AccumulateGrad`` for ``torch::autograd::AccumulateGrad``."""
    return name.rpartition("::")[2]


def with_names(trace: Trace, text: str, at: int) -> str:
    """Replace the numbers of tensors in a text (``[t3, t4]``) with the user's names."""
    return _NUMBERED.sub(lambda found: code_name(trace, int(found[1]), at), text)
