"""``__torch_dispatch__`` of modes and tensor classes."""

from __future__ import annotations

from dispatchviz.core.keys.key_set import autograd_dispatch_keyset
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.cells.pytorch_tables import cell_of, pytorch
from dispatchviz.explain.kinds.kind import WIDTH, Kind, Known, Rule
from dispatchviz.explain.sentences.statement import Statement, Statements
from dispatchviz.explain.sentences.table_claims import CellHolds
from dispatchviz.explain.trace_index.display_names import tensor_names
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.explain.trace_index.trace_index import index, latest
from dispatchviz.foundation.english import counted, shortened


def _torch_dispatch_left_label(trace: Trace, event: ev.TorchDispatchLeft) -> str:
    return f"{event.handler} {'returns NotImplemented' if event.not_implemented else 'is done'}"


def _entered(trace: Trace, event: ev.TorchDispatchEntered) -> Statements:
    """The mode or subclass that gets the call, and the place where its calls go."""
    return _called(trace, event), *_composite(trace, event)


def _called(trace: Trace, event: ev.TorchDispatchEntered) -> Statement:
    gets = f"gets {event.function} in its __torch_dispatch__, {_when(trace, event)}. {_calls(event)}"
    if event.kind == "mode":
        return Statement("mode called", f"The mode {event.handler} {gets}")
    return Statement("tensor subclass called", f"The tensor subclass {event.handler} {gets}")


def _composite(trace: Trace, event: ev.TorchDispatchEntered) -> tuple[Statement, ...]:
    """The reason why Python sees a composite operator, whose kernel autograd keys run above Python."""
    call = around(trace, event.seq, ev.Dispatched)
    kernel = _composite_kernel(trace, call.operator) if call else ""
    if call is None or call.key != "Python" or not kernel:
        return ()
    text = f"{call.operator} reaches Python as a whole, because its key set has no autograd key"
    if latest(index(trace).inference, event.seq):
        text += " (inference mode excludes them)"
    text += (
        f". At an autograd key, above Python, its composite kernel {kernel} would have called other operators instead."
    )
    return (Statement("composite in Python", text, (CellHolds(call.operator, "AutogradCPU", kernel, "math kernel"),)),)


def _composite_kernel(trace: Trace, operator: str) -> str:
    """The composite kernel in PyTorch's autograd entries of an operator; empty if the program changed the operator."""
    registered = (trace[step] for step in trace.steps_of(ev.KernelRegistered))
    if any(isinstance(event, ev.KernelRegistered) and event.operator == operator for event in registered):
        return ""
    known = pytorch("cpu").get(operator)
    cell = known and cell_of(known, DispatchKey.AutogradCPU)
    return cell.kernel.name if cell and cell.kernel and cell.source == DispatchKey.CompositeImplicitAutograd else ""


def _when(trace: Trace, event: ev.TorchDispatchEntered) -> str:
    kernel = around(trace, event.seq, ev.KernelEntered)
    if kernel is None or kernel.kernel != "pythonFallback":
        return "because a tensor is copied without a dispatcher call and the handler may replace the copy"
    return "because the keys above Python have been handled"


def _calls(event: ev.TorchDispatchEntered) -> str:
    if event.modes_left:
        return f"Its calls go to {counted(event.modes_left, 'outer mode')} first."
    past = not autograd_dispatch_keyset & ~event.excluded
    where = "go straight to the backend" if past else "are dispatched as they would be without it"
    if event.kind == "mode":
        return f"The mode is off the mode stack meanwhile, so its calls on plain tensors {where}."
    return f"Its calls on plain tensors {where}. Calls on tensors of its own class would come back to it."


def _left(trace: Trace, event: ev.TorchDispatchLeft) -> Statement:
    """Name the result of a handler, or report that it returned NotImplemented."""
    if event.not_implemented:
        return Statement(
            "handler returns NotImplemented", f"{event.handler} returns NotImplemented, so the next handler is called."
        )
    result = tensor_names(trace, event.tensors, event.seq)
    text = f"The __torch_dispatch__ of {event.handler} is done{f' and returns {result}' if result else ''}."
    return Statement("handler done", text)


_NEXT_HANDLER_RULE = Rule(
    "The innermost mode is called first, then the __torch_dispatch__ of each tensor class, subclasses before their "
    "bases. NotImplemented passes the call to the next one.",
    "handle_torch_function_no_python_arg_parser",
    "torch/csrc/utils/python_arg_parser.cpp",
)

TORCH_DISPATCH_KINDS = Kind(
    ev.TorchDispatchEntered,
    group="dispatch",
    label=lambda trace, event: shortened(f"{event.kind} {event.handler} gets {event.function}", WIDTH),
    why=_entered,
    rule=_NEXT_HANDLER_RULE,
    known=Known("derived", "from the stack of modes and the arguments, when the Python key's kernel is called"),
    level="calls",
    panes=("calls", "source"),
    reason_in_log="always",
) | Kind(
    ev.TorchDispatchLeft,
    group="dispatch",
    label=_torch_dispatch_left_label,
    why=_left,
    rule=_NEXT_HANDLER_RULE,
    known=Known("derived", "from what the kernel of the Python key returned"),
    panes=("calls", "source"),
)
