"""The writes to views that PyTorch does not allow, and ``detach_`` on a view."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.graph_errors.inplace import diagnosis_of, instead, written_to
from dispatchviz.explain.diagnosis.graph_errors.values import called, variable, views_back, with_line
from dispatchviz.explain.diagnosis.words import base_name, begun, made_by, on_line
from dispatchviz.explain.sentences.sentence_claims import WriteRaises
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.trace_index import index

SEVERAL_VIEWS = "This view is the output of a function that returns multiple views"
OF_FUNCTION = "This view was created inside a custom Function"
NO_GRAD = "created in no_grad mode and is being modified inplace"
INFERENCE = "created in inference mode and is being modified inplace"
DETACHED_VIEW = "Can't detach views in-place"


def detached_view(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of ``detach_`` on a view."""
    written = written_to(failure)
    if written is None:
        return None
    trace, at = failure.trace, failure.raised
    views = views_back(trace, written.tensor)
    name = called(trace, written.tensor, at)
    of = f" of {called(trace, views[1], at)}" if len(views) > 1 else ""
    which = begun(with_line(trace, written.tensor, at))
    text = (
        f"{which} is a view{of}, and {on_line(trace, at)} calls detach_() on it. A view gets its history from its "
        "base, so it cannot be detached on its own."
    )
    cause = Statement("in-place write: a view detached", text)
    fix = f"Use a new tensor without a history: {name} = {name}.detach()."
    return diagnosis_of(failure, cause, (fix,), written)


def several_views(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a write to one of several views that one call returned."""
    written = written_to(failure)
    if written is None:
        return None
    trace, at = failure.trace, failure.raised
    name, views = called(trace, written.tensor, at), views_back(trace, written.tensor)
    base, function = variable(trace, views[1], at) if len(views) > 1 else "", _function_of(failure)
    text = (
        f"{begun(name)} is an output of {_maker(failure, written.tensor)}, which returned several "
        f"views{f' of {base}' if base else ''} at once. {begun(on_line(trace, at))} writes to {name} in place with "
        f"{base_name(written.call)}. Autograd can give a view a new grad_fn only if its Node returned no other view."
    )
    cause = Statement("in-place write: one of several views", text, (WriteRaises(written.tensor, SEVERAL_VIEWS),))
    fixes = [instead(failure, name)]
    if base and not function:
        fixes.append(f"Or take the part of {base} with an index or a slice: autograd allows writes to that view.")
    return diagnosis_of(failure, cause, tuple(fixes), written)


def _maker(failure: Failure, tensor: int) -> str:
    """Return the maker: ``unbind on line 4 (a, b = y.unbind(0))``, ``the custom Function Two (line 6)``."""
    trace, made = failure.trace, made_by(failure.trace, tensor)
    if function := _function_of(failure):
        where = on_line(trace, made.seq, text=False) if made is not None else ""
        return f"the custom Function {function}{f' ({where})' if where else ''}"
    return f"{base_name(made)} on {on_line(trace, made.seq)}" if made is not None else "one call"


def _function_of(failure: Failure) -> str:
    """Return the custom Function in a message, such as ``Two``; empty if the message is about an operator's Node."""
    name = failure.message.partition(" is a view")[0].rpartition(" ")[2]
    return "" if f"{name}Backward0" in failure.trace.columns.name_texts else name


def _function_behind(trace: Trace, tensor: int, at: int) -> tuple[str, ev.NodeCreated | None, int]:
    """Return the custom Function that returned a tensor or its base: its name, its Node, the tensor that it returned.

    A recording of an installed PyTorch has the Node only after the result was used.
    """
    views = views_back(trace, tensor)
    for view in views:
        node = index(trace).history(view, at)
        made = None if node is None else index(trace).nodes.get(node)
        name = "" if made is None else made.name.removesuffix("Backward")
        if made is not None and name != made.name and "::" not in name:
            return name, made, view
    return "", None, next((view for view in views if variable(trace, view, at)), tensor)


def of_function(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a write to a view that a custom Function returned."""
    written = written_to(failure)
    if written is None:
        return None
    trace, at = failure.trace, failure.raised
    function, made, returned = _function_behind(trace, written.tensor, at)
    function = _function_of(failure) or function
    name, where = called(trace, returned, at), f" on {on_line(trace, made.seq)}" if made is not None else ""
    part = "it" if returned == written.tensor else "a view of it"
    text = (
        f"{begun(name)} is a view that {f'the custom Function {function}' if function else 'a custom Function'} "
        f"returned{where}, and {on_line(trace, at)} writes to {part} in place with {base_name(written.call)}. After "
        f"that write autograd would compute the gradient of {name} from its base, and "
        f"{f'{function}.backward' if function else 'backward of the Function'} would not be called."
    )
    cause = Statement("in-place write: a view of a custom Function", text, (WriteRaises(written.tensor, OF_FUNCTION),))
    fixes: tuple[str, ...] = (
        f"Return a copy from {f'{function}.forward' if function else 'forward'}: .clone() on what it returns.",
    )
    fixes += (instead(failure, name),) if returned == written.tensor else ()
    return diagnosis_of(failure, cause, fixes, written)


def unrecorded_view(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a write to a view that was made in ``no_grad`` or in inference mode."""
    written = written_to(failure)
    if written is None:
        return None
    trace, at = failure.trace, failure.raised
    mode = "torch.inference_mode()" if INFERENCE in failure.message else "torch.no_grad()"
    views = views_back(trace, written.tensor)
    view = next((each for each in views[:-1] if index(trace).history(each, at) is None), (*views[-2:], views[0])[0])
    name, base = called(trace, view, at), called(trace, views[-1], at)
    made = index(trace).tensors.get(view)
    of = f" of {base}" if len(views) > 1 else ""
    where = on_line(trace, made.seq) if made is not None else "an earlier line"
    text = (
        f"{where} made {name} as a view{of} inside {mode}, and {on_line(trace, at)} writes to it outside of "
        f"it, with {base_name(written.call)}. PyTorch cannot know whether autograd should record that write."
    )
    cause = Statement("in-place write: a view made unrecorded", begun(text))
    line = on_line(trace, made.seq, text=False) if made is not None else "it"
    inside = f"write inside of {mode}: move {on_line(trace, at, text=False)} in."
    outside = f"make the view outside of {mode}: move {line} out."
    fixes: tuple[str, ...] = (f"To record the write, {outside}", f"To not record it, {inside}")
    if index(trace).history(views[-1], at) is None or _makes_several(trace, written.tensor):
        fixes = (f"Write{inside[5:]}",)  # writes to a view of a leaf, or to one of several views, raise there too
    return diagnosis_of(failure, cause, fixes, written)


def _makes_several(trace: Trace, tensor: int) -> bool:
    """Return whether the call that made a view returned others with it."""
    made = made_by(trace, tensor)
    returned = None if made is None else trace[trace.ends[made.seq]]
    return isinstance(returned, ev.KernelReturned) and len(returned.tensors) > 1


RULES = (
    (DETACHED_VIEW, detached_view),
    (INFERENCE, unrecorded_view),
    (NO_GRAD, unrecorded_view),
    (OF_FUNCTION, of_function),
    (SEVERAL_VIEWS, several_views),
)
