"""The effect of the kernel in an autograd entry on a call."""

from __future__ import annotations

from dispatchviz.core.table.operator_entry import Cell, OperatorEntry
from dispatchviz.core.table.precedence import FALLBACK, MATH
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.sentences.table_claims import AutogradKernel, CellHolds

NOT_IMPLEMENTED = "autogradNotImplementedFallback"
"""The boxed kernel for Autograd of operators that have no derivative."""


def autograd(op: OperatorEntry, cell: Cell) -> Statement:
    """The sentence on the kernel of an autograd entry."""
    assert cell.kernel is not None
    name, key = cell.kernel.name, cell.key
    holds = (CellHolds(op.name, str(key), name, cell.reason),)
    if cell.reason == MATH:
        return Statement(
            "autograd cell: composite",
            f"{name} already runs at {key}, above the backend, and decomposes the call into other operators. Each of "
            f"them is dispatched through {key} and records its own derivative. {op.name} itself needs no derivative "
            "and records no Node.",
            holds,
        )
    if cell.reason == FALLBACK:
        return Statement(
            "autograd cell: fallback",
            "The fallback redispatches to the keys below (ks & after_autograd_keyset), without a guard, and records "
            "no derivative. If an input requires grad and the kernel below gives a result without a history, the "
            "result gets a Node (WarnNotImplemented) that only warns when backward reaches it. The gradient of an "
            "operator without an autograd kernel is lost there. If the kernel calls differentiable operators, their "
            "gradients are kept.",
            holds,
        )
    if any(argument.is_write and argument.kwarg_only for argument in op.schema.arguments):
        return Statement(
            "autograd cell: out",
            f"{name} records nothing, because out= forms have no derivative. If an argument requires grad and grad "
            "mode is on, it raises RuntimeError (functions with out=... arguments don't support automatic "
            "differentiation). Otherwise it redispatches to the keys below.",
            (AutogradKernel(op.name, "out"),),
        )
    if name == NOT_IMPLEMENTED:
        return Statement(
            "autograd cell: not implemented",
            "The operator has no derivative. If an input requires grad and grad mode is on, this kernel creates a "
            "Node that raises an error when backward reaches it (derivative for ... is not implemented). Then it "
            "redispatches to the keys below and sets the Node as the grad_fn of the result.",
            (AutogradKernel(op.name, "not implemented"),),
        )
    if name.startswith("wrapper_"):
        return Statement(
            "autograd cell: composite of nested tensors",
            f"{name} computes nothing itself. It decomposes the call into other operators, which are dispatched "
            "through the autograd keys and record their own derivatives.",
            holds,
        )
    if not name.startswith("VariableType::"):
        return Statement(
            "autograd cell: Python",
            f"{name} is a kernel written in Python. It decides what to record, and calls the operator again below the "
            "autograd keys.",
        )
    return _generated(op, name)


def _generated(op: OperatorEntry, name: str) -> Statement:
    # It reads generated code, of which the other sentences need nothing.
    from dispatchviz.explain.codegen.generated_functions import node_of

    node = node_of(op.name.removeprefix("aten::"))
    begin = f"{name} computes nothing itself. If an input requires grad and grad mode is on, "
    end = "with every key below autograd (ks & after_autograd_keyset)"
    if node:
        return Statement(
            "autograd cell: Node",
            f"{begin}it creates a Node ({node}), which computes the operator's gradients in backward. Then it "
            f"redispatches {end} and sets the Node as the grad_fn of the result.",
            (AutogradKernel(op.name, node),),
        )
    return Statement(
        "autograd cell: generated",
        f"{begin}and the operator has a derivative for that input, it creates a Node, which computes the operator's "
        f"gradients in backward. Then it redispatches {end} and sets the Node as the grad_fn of the result.",
    )
