"""The kinds of events about tensors."""

from __future__ import annotations

from dispatchviz.core.keys.key_set import autograd_dispatch_keyset, functorch_transforms_ks, raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph import inplace_errors
from dispatchviz.explain.keys.key_text import key_names
from dispatchviz.explain.keys.own_numbers import own_shown
from dispatchviz.explain.kinds.kind import WIDTH, Kind, Known, Rule, unseen
from dispatchviz.explain.locations.pytorch_locations import (
    VARIABLE,
    VARIABLE_TYPE,
)
from dispatchviz.explain.sentences import requires_grad_sentences, view_sentences
from dispatchviz.explain.sentences.inplace_sentences import why_checked
from dispatchviz.explain.sentences.sentence_claims import TensorKeys, Version
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import attribute, described, grad_name, numbered, tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed, plain_dtype, shaped, shortened

_CHANGED = "changes of an existing tensor are not watched"


def _tensor_label(trace: Trace, event: ev.TensorCreated) -> str:
    shape = f"{shaped(event.shape)} {plain_dtype(event.dtype)} {event.device}"
    name = (
        f"t{event.tensor}  {event.value}".rstrip() if event.wrapped_number else numbered(trace, event.tensor, event.seq)
    )
    return f"tensor {name}  {shape}{'' if event.how == 'new' else f' ({event.how})'}"


def _view_label(trace: Trace, event: ev.ViewMade) -> str:
    name, base = (tensor_name(trace, tensor, event.seq) for tensor in (event.tensor, event.base))
    return f"{name} is a view of {base}"


def _version_label(trace: Trace, event: ev.VersionBumped) -> str:
    return f"version of {tensor_name(trace, event.tensor, event.seq)}: {event.before} → {event.after}"


def _inplace_label(trace: Trace, event: ev.InplaceChecked) -> str:
    name = tensor_name(trace, event.tensor, event.seq)
    return f"check_inplace: {name} may {'' if event.allowed else 'not '}be written to"


def _geometry_label(trace: Trace, event: ev.GeometryChanged) -> str:
    name = tensor_name(trace, event.tensor, event.seq)
    return f"{name} is {shaped(event.shape)} now, strides {shaped(event.stride)}"


def _requires_grad_label(trace: Trace, event: ev.RequiresGradSet) -> str:
    name = tensor_name(trace, event.tensor, event.seq)
    return (
        f"{name} is detached in place"
        if event.detached
        else f"{attribute(name, 'requires_grad')} = {event.requires_grad}"
    )


def _grad_set_label(trace: Trace, event: ev.GradSet) -> str:
    name = grad_name(trace, event.tensor, event.seq)
    return f"{name} = {'None' if event.result is None else f't{event.result}'}"


def _keys_label(trace: Trace, event: ev.KeySetChanged) -> str:
    return f"keys of {tensor_name(trace, event.tensor, event.seq)}: {_change_label(event)}"


def _change_label(event: ev.KeySetChanged) -> str:
    before, after = set(key_names(event.before)), set(key_names(event.after))
    return " ".join([f"+{name}" for name in sorted(after - before)] + [f"-{name}" for name in sorted(before - after)])


def _numbers_label(trace: Trace, event: ev.NumbersRecorded) -> str:
    if event.last:
        return "no more numbers are recorded"
    name = tensor_name(trace, event.tensor, event.seq)
    return shortened(f"{name} holds {event.numbers}" if event.numbers else f"numbers of {name} are not known", WIDTH)


_PYTHON = raw(DispatchKey.Python)


_WRAPPERS = functorch_transforms_ks | raw(DispatchKey.Functionalize)


def _created(trace: Trace, event: ev.TensorCreated) -> Statement:
    what, claims = described(trace, event.tensor, event.seq), (TensorKeys(event.tensor, event.key_set),)
    name, keys = numbered(trace, event.tensor, event.seq), _has_keys(event.key_set)
    if event.how != "new":
        text = f"{name} is first seen here, but it was created before: {what}. {keys}"
        return Statement("known tensor", text, claims)
    if event.wrapped_number:
        number = f"the Python number {event.value}".rstrip()
        text = (
            f"The operator takes tensors, so {number} is wrapped in a tensor without dimensions: t{event.tensor}, "
            f"{what}."
        )
        return Statement("wrapped number", text)
    if event.key_set & _WRAPPERS:
        text = f"{name} is a tensor that only wraps another one: {what}. {keys}"
        return Statement("wrapper made", text, claims)
    first = f"{name} is a new tensor: {what}."
    end = (
        ""
        if event.key_set & autograd_dispatch_keyset
        else (" It has no autograd key, because it is an inference tensor.")
    )
    if index(trace).on_memory_known_before(event):
        text = f"{first} It uses the memory of another tensor. {keys}{end}"
        return Statement("tensor on known memory", text, claims)
    if event.storage < 0 or event.key_set & _PYTHON:
        return Statement("tensor without memory", f"{first} {keys}{end}", claims)
    text = f"{first} It gets these keys from its device: {_keys(event.key_set)}.{end}"
    return Statement("tensor made", text, claims)


def _has_keys(raw: int) -> str:
    """Return the sentence that lists the keys of a tensor."""
    match key_names(raw):
        case []:
            return "It has no keys."
        case [name]:
            return f"Its key is {name}."
        case names:
            return f"Its keys are {listed(names)}."


def _keys(raw: int) -> str:
    return listed(key_names(raw)) or "none"


def _bumped(trace: Trace, event: ev.VersionBumped) -> tuple[Statement, ...]:
    name, coming = tensor_name(trace, event.tensor, event.seq), inplace_errors.warnings(trace, event)
    notice = "" if coming else " A Node that saved it before can detect the change."
    text = f"{name} was changed in place, so its version goes from {event.before} to {event.after}.{notice}"
    return Statement("version bumped", text, (Version(event.tensor, event.after),)), *coming


def _taken_over(trace: Trace, event: ev.GeometryChanged) -> Statement:
    name = tensor_name(trace, event.tensor, event.seq)
    call = around(trace, event.seq, ev.Dispatched)
    if call is not None and call.operator.startswith("aten::set_."):
        text = (
            f"{name} now uses the memory that set_ was given. It stays the same tensor, with sizes "
            f"{shaped(event.shape)} and strides {shaped(event.stride)}."
        )
        return Statement("storage set", text)
    text = (
        f"{name} takes over the data of another tensor but stays the same tensor. It is now {shaped(event.shape)} "
        f"{plain_dtype(event.dtype)} on {event.device}, with strides {shaped(event.stride)}."
    )
    return Statement("data taken over", text)


def _numbers(trace: Trace, event: ev.NumbersRecorded) -> Statement:
    if event.last:
        said = f"The numbers of small tensors were recorded {len(trace.steps_of(ev.NumbersRecorded)) - 1:,} times"
        return Statement(
            "limit of numbers", f"{said}, which is the limit. No more are recorded. --values has no limit."
        )
    name = tensor_name(trace, event.tensor, event.seq)
    if event.numbers:
        waited = " The recording waited for the GPU to read them. The program alone would not wait." * event.waited
        if event.unseen:
            said = "No recorded call wrote them. Other code did at an unknown step before this one, such as NumPy."
            return Statement("numbers changed unseen", f"{name} holds {event.numbers}. {said}")
        return Statement("numbers recorded", f"{name} holds {event.numbers}.{waited}")
    text = "They are no longer recorded." if event.written else "They are not known here."
    return Statement("numbers not recorded", f"The numbers of {name} have changed or may change. {text}")


def _grad_set(trace: Trace, event: ev.GradSet) -> Statement:
    name = tensor_name(trace, event.tensor, event.seq)
    if event.result is None:
        text = f"{name} no longer has a .grad, so the next gradient that arrives is not added to anything."
        return Statement("grad cleared", text)
    if event.retained:
        kept = grad_name(trace, event.tensor, event.seq)
        text = f"{name} is not a leaf, so its gradient would be dropped. The hook of retain_grad() writes it to {kept}."
        return Statement("grad retained", text)
    return Statement(
        "grad assigned",
        (f"The program set {grad_name(trace, event.tensor, event.seq)} to t{event.result}. No backward pass did."),
    )


def _keys_changed(trace: Trace, event: ev.KeySetChanged) -> Statement:
    gained, lost = event.after & ~event.before, event.before & ~event.after
    changes = [f"gains {listed(_added(event.after, event.before))}"] if gained else []
    changes += [f"loses {listed(_added(event.before, event.after))}"] if lost else []
    name = tensor_name(trace, event.tensor, event.seq)
    call = around(trace, event.seq, ev.Dispatched)
    changes.append(f"is now {own_shown(trace.header, event.after)}")
    changed = f"{call.operator} changes the key set of {name}" if call else f"The key set of {name} changes"
    text = f"{changed}: it {listed(changes)}."
    return Statement("keys changed", text, (TensorKeys(event.tensor, event.after),))


def _added(after: int, before: int) -> list[str]:
    known = set(key_names(before))
    return [name for name in key_names(after) if name not in known]


def _requires_grad_set_rule(event: ev.RequiresGradSet) -> Rule:
    if event.detached:
        text = "detach_ removes a tensor from its graph. The tensor becomes a leaf that does not require grad."
        return Rule(text, "VariableType::detach_", "torch/csrc/autograd/VariableTypeManual.cpp")
    text = "requires_grad is a flag in the tensor's autograd metadata. It changes no key."
    return Rule(text, "torch::autograd::AutogradMeta::set_requires_grad", "torch/csrc/autograd/variable.h")


def _grad_set_rule(event: ev.GradSet) -> Rule:
    if event.retained:
        text = "Retains-grad hooks run after all tensor pre-hooks, so .grad is the gradient as these have changed it."
        return Rule(text, "torch::autograd::impl::retain_grad", VARIABLE)
    text = (
        "A tensor that is assigned to .grad must have the shape of its owner, its grad_dtype (its dtype, unless "
        "another is set) and its kind of device. None is allowed too."
    )
    return Rule(text, "THPVariable_set_grad", "torch/csrc/autograd/python_variable.cpp")


def _geometry(trace: Trace, event: ev.GeometryChanged) -> Statement:
    if event.dtype:
        return _taken_over(trace, event)
    text = (
        f"{tensor_name(trace, event.tensor, event.seq)} stays the same tensor, but its shape is now "
        f"{shaped(event.shape)} and its strides are {shaped(event.stride)}."
    )
    return Statement("sizes and strides changed", text)


TENSOR_KINDS = (
    Kind(
        ev.TensorCreated,
        group="tensor",
        label=_tensor_label,
        why=_created,
        rule=Rule(
            "A new tensor gets the keys of its backend, including its autocast key. Outside inference mode it also "
            "gets the autograd keys. A view has the keys of its base.",
            "c10::TensorImpl::TensorImpl",
            "c10/core/TensorImpl.cpp",
        ),
        known=Known(
            "observed",
            "the tensor is read when a call first receives or returns it",
            {"how": ("derived", "the recorder meets it for the first time")},
        ),
        panes=("tensors", "source"),
    )
    | Kind(
        ev.ViewMade,
        group="tensor",
        label=_view_label,
        why=view_sentences.why_made,
        rule=Rule("The base of a view is never itself a view.", "torch::autograd::as_view", VARIABLE_TYPE),
        known=unseen("a view shows only in the storage that it shares"),
        panes=("tensors", "source"),
    )
    | Kind(
        ev.VersionBumped,
        group="tensor",
        label=_version_label,
        why=_bumped,
        rule=Rule(
            "A view shares the version counter of its base, but x.data has its own. In-place operators bump the "
            "counter.",
            "torch::autograd::increment_version",
            VARIABLE_TYPE,
        ),
        known=unseen("a version is read when a Node saves a tensor, not when it is bumped"),
        panes=("tensors", "source"),
    )
    | Kind(
        ev.GeometryChanged,
        group="tensor",
        label=_geometry_label,
        why=_geometry,
        rule=Rule(
            "Sizes and strides belong to the tensor, not to its memory, so they can change without a new tensor.",
            "c10::TensorImpl",
            "c10/core/TensorImpl.h",
        ),
        known=Known(
            "observed",
            "the sizes and strides before and after a kernel that may change them",
            {"storage": ("unseen", "the new storage is not read")},
        ),
        panes=("tensors", "source"),
    )
    | Kind(
        ev.RequiresGradSet,
        group="tensor",
        label=_requires_grad_label,
        why=requires_grad_sentences.why_set,
        rule=_requires_grad_set_rule,
        known=Known(
            "derived", ("the flag of a leaf when a variable gets it. The value False and other moments are not seen")
        ),
        level="calls",
        panes=("tensors", "source"),
    )
    | Kind(
        ev.KeySetChanged,
        group="tensor",
        label=_keys_label,
        why=_keys_changed,
        rule=Rule(
            "Few bits of a tensor's key set can change later: conjugate, negative, zero and the Python keys. With "
            "x.data = y, x takes over the key set of y.",
            "c10::TensorImpl",
            "c10/core/TensorImpl.h",
        ),
        known=unseen(_CHANGED),
        panes=("tensors", "source"),
    )
    | Kind(
        ev.InplaceChecked,
        group="tensor",
        label=_inplace_label,
        why=why_checked,
        rule=Rule(
            "An autograd kernel checks before it writes. In grad mode, if an argument requires grad, it refuses to "
            "write to a leaf that requires grad, to a view of one, or to a view whose creation_meta forbids it.",
            "torch::autograd::check_inplace",
            VARIABLE_TYPE,
        ),
        known=unseen("only the errors of check_inplace are seen"),
        panes=("tensors", "source"),
    )
    | Kind(
        ev.GradSet,
        group="tensor",
        label=_grad_set_label,
        why=_grad_set,
        rule=_grad_set_rule,
        known=unseen("an assignment to .grad cannot be seen"),
        panes=("tensors", "source"),
    )
    | Kind(
        ev.NumbersRecorded,
        group="tensor",
        label=_numbers_label,
        why=_numbers,
        rule=Rule(
            "Numbers are in memory, and all tensors that share the memory see every write.",
            "c10::StorageImpl",
            "c10/core/StorageImpl.h",
        ),
        known=Known("observed", "memory is read at calls, without a call of PyTorch"),
        panes=("tensors", "source"),
    )
)
