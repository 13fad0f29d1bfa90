"""The reason why a key is in the key set of a call, or not: one sentence per key, with the program's names."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache

from dispatchviz.core.keys.key_set import default_excluded_set, default_included_set, highest_backend, raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.keys.key_names import recorded_key
from dispatchviz.explain.keys.key_text import (
    backend_bit,
    backend_name,
    backends,
    functionalities,
    is_autograd,
    is_per_backend,
    runtime_name,
)
from dispatchviz.explain.sentences import functorch_sentences
from dispatchviz.explain.trace_index.display_names import tensor_name, tensor_names
from dispatchviz.explain.trace_index.enclosing_steps import around, excluder, includer, key_of_kernel
from dispatchviz.explain.trace_index.recorded_engine import is_unseen
from dispatchviz.explain.trace_index.trace_index import index, latest
from dispatchviz.foundation.english import capital, listed


def origin(trace: Trace, computed: ev.KeySetComputed, key: DispatchKey) -> str:
    """The origin of a key of a call: its arguments, the thread, or both."""
    bit = raw(key)
    carried = _carried(trace, computed, key) if any(ks & bit for _, _, ks in computed.arguments) else ""
    if not carried and undefined_keys(computed) & bit:
        carried = "an undefined tensor among the arguments (None in Python) has this key"
    if not computed.included & bit:
        return carried
    included = _included(trace, computed, key, "it" if carried else "this key")
    return f"{carried}, and {included}" if carried else included


def undefined_keys(computed: ev.KeySetComputed) -> int:
    """The keys of undefined tensors, which are not arguments of the event: AutogradOther."""
    return computed.effective & ~computed.with_included


def _carried(trace: Trace, computed: ev.KeySetComputed, key: DispatchKey) -> str:
    bit, backend = raw(key), _deciding_backend(computed, key)
    carriers = [tensor for _, tensor, ks in computed.arguments if ks & bit and ks & backend == backend]
    who = tensor_names(trace, carriers, computed.seq)
    several = len(set(carriers)) > 1
    if not backend:
        return f"{who} {'have' if several else 'has'} this key{_habit(key)}"
    device = backend_name(highest_backend(backend))
    lower = [backend_name(found) for found in backends(computed.united) if backend_bit(found) < backend]
    rank = f" ({device} comes before {listed(lower)})" if lower else ""
    kind = f"{who} {f'are {device} tensors' if several else f'is {_article(device)} {device} tensor'}{rank}"
    if key == DispatchKey.AutogradFunctionality:
        return f"{kind}, and every ordinary {device} tensor has this key from the moment it is made"
    return kind


def _deciding_backend(computed: ev.KeySetComputed, key: DispatchKey) -> int:
    """The highest backend bit of the call if the key joins with one; 0 otherwise."""
    return backend_bit(highest_backend(computed.united)) if is_per_backend(key) else 0


def _article(word: str) -> str:
    return "an" if word in ("HPU", "XPU", "XLA", "IPU", "MPS", "MTIA", "MAIA") else "a"


def _habit(key: DispatchKey) -> str:
    if key == DispatchKey.ADInplaceOrView:
        return ", as every ordinary tensor does"
    if key.name.startswith("Autocast"):
        return f", as every {key.name.removeprefix('Autocast')} tensor does"
    return ""


def _included(trace: Trace, computed: ev.KeySetComputed, key: DispatchKey, it: str) -> str:
    guard = includer(trace, computed.seq, raw(key))
    if guard is not None:
        return f"the guard {guard.guard} includes {it}"
    always = " by default" if default_included_set & raw(key) else ""
    return f"{it} is in the thread-local include set{always}"


def exclusion(trace: Trace, seq: int, key: DispatchKey, it: str = "it") -> str:
    """The reason why a key is excluded at a step: ``the guard G excludes it because autograd has already been
    handled``.
    """
    guard = excluder(trace, seq, raw(key))
    if guard is not None:
        return f"the guard {guard.guard} excludes {it} because {guard_reason(trace, guard)}"
    if is_autograd(key.name) and latest(index(trace).inference, seq):
        return f"inference mode excludes {it}"
    if key.name.startswith("Autocast") and default_excluded_set & raw(key):
        return f"the thread-local exclude set has {it} while autocast is off"
    return f"the thread-local exclude set has {it}"


def exclusion_depends_on(trace: Trace, seq: int) -> Hashable:
    """The facts of the thread from which the reasons for its sets are made: its guards, and inference mode."""
    guards = (_guard_facts(trace, each.seq) for each in trace.ancestors(seq) if isinstance(each, ev.GuardEntered))
    return tuple(guards), latest(index(trace).inference, seq)


@lru_cache(maxsize=64)
def _guard_facts(trace: Trace, seq: int) -> Hashable:
    guard = trace[seq]
    assert isinstance(guard, ev.GuardEntered)
    sets = (guard.included_before, guard.included, guard.excluded_before, guard.excluded)
    return guard.guard, sets, guard_reason(trace, guard)


def guard_reason(trace: Trace, guard: ev.GuardEntered) -> str:
    """The reason for a guard."""
    if guard.guard == "InferenceMode":
        return f"inference mode is {'off' if guard.included & raw(DispatchKey.ADInplaceOrView) else 'on'}"
    parent = trace[guard.parent] if guard.parent is not None else None
    if isinstance(parent, ev.BindingEntered) and guard.guard.startswith("AutoDispatchBelow"):
        return f"a new tensor has no history, so autograd has nothing to record in {parent.function}"
    if guard.guard == "StashTorchDispatchModeGuard":
        return "a mode does not see what its own handler calls"
    if guard.included & ~guard.included_before & raw(DispatchKey.PythonTLSSnapshot):
        return "a dispatch mode is on, and every call must reach it"
    kernel = around(trace, guard.seq, ev.KernelEntered)
    if kernel is not None and key_of_kernel(trace, kernel) == "Python":
        return "the keys above Python have already been handled"
    if transform := functorch_sentences.guard_reason(trace, guard):
        return transform
    if kernel is None and guard.guard == "AutoDispatchBelowADInplaceOrView":
        return "what is made here is new and has no history"
    key = key_of_kernel(trace, kernel) if kernel is not None else ""
    if is_autograd(key):
        return "autograd has already been handled"
    if key.startswith("Autocast"):
        return "autocast has already been handled"
    if key == "ADInplaceOrView":
        return "autograd and ADInplaceOrView have already been handled"
    if key and raw(recorded_key(key)) & guard.excluded & ~guard.excluded_before:
        return f"{key} has already been handled"
    if key == "Functionalize":
        return "this call runs on meta tensors, only to compute shapes"
    if kernel is not None:
        return f"{kernel.kernel} needs it for the operators that it calls"
    return _of_new_numbers(trace, guard) or "the program entered it"


MODES = raw(DispatchKey.Python, DispatchKey.FuncTorchDynamicLayerFrontMode, DispatchKey.FuncTorchDynamicLayerBackMode)
TRACER = raw(DispatchKey.Tracer)


def _of_new_numbers(trace: Trace, guard: ev.GuardEntered) -> str:
    """The reason for a guard while a tensor is created from Python numbers (``torch/csrc/utils/tensor_new.cpp``)."""
    if around(trace, guard.seq, ev.BindingEntered) is None:
        return ""
    taken = guard.excluded & ~guard.excluded_before
    if taken == TRACER:
        return "torch.jit.trace must not record how a tensor is made from Python numbers"
    if taken & MODES == MODES:
        return "no mode or transform may intercept or wrap a new tensor before it is finished"
    return ""


def reasons(trace: Trace, call: ev.Dispatched, computed: ev.KeySetComputed) -> tuple[tuple[str, str], ...]:
    """The functionalities of the call, highest first: the key's name, and the reason why it is in the set or not."""
    keys = functionalities(computed.with_included | computed.effective)
    names = argument_names(trace, computed)
    return tuple((_name(key, computed), _reason(trace, call, computed, key, names)) for key in keys)


def _name(key: DispatchKey, computed: ev.KeySetComputed) -> str:
    return runtime_name(key, backend_bit(highest_backend(computed.with_included)))


def _reason(
    trace: Trace, call: ev.Dispatched, computed: ev.KeySetComputed, key: DispatchKey, names: frozenset[str]
) -> str:
    begin = capital(origin(trace, computed, key), names)
    anyway = ", whether it requires grad or not" if is_autograd(key.name) and computed.united & raw(key) else ""
    return f"{begin}{anyway}. {capital(_fate(trace, call, computed, key), names)}."


def argument_names(trace: Trace, computed: ev.KeySetComputed) -> frozenset[str]:
    """The names of the arguments at the call."""
    return frozenset(tensor_name(trace, tensor, computed.seq) for _, tensor, _ in computed.arguments)


def _fate(trace: Trace, call: ev.Dispatched, computed: ev.KeySetComputed, key: DispatchKey) -> str:
    bit = raw(key)
    if next(functionalities(computed.effective), None) == key:
        return "it is the highest key left, so it wins"
    if computed.effective & bit:
        return f"it is in the key set, but {call.key} is higher"
    if not computed.without_excluded & bit:
        return f"it is not in the key set: {exclusion(trace, computed.seq, key)}"
    return (
        f"it is not in the key set, because {call.operator} has a fallthrough for it and the operator's mask removes "
        "such keys"
    )


def higher_keys_kept_out(trace: Trace, computed: ev.KeySetComputed) -> str:
    """A sentence on the excluded keys above the winner, apart from autocast; empty if there are none."""
    winner = next(functionalities(computed.effective), None)
    lost = computed.with_included & ~computed.without_excluded
    keys = [key for key in functionalities(lost) if not key.name.startswith("Autocast")]
    above = [key for key in keys if winner is None or key > winner]
    if not above:
        return ""
    names = listed([_name(key, computed) for key in reversed(above)])
    them = "them" if len(above) > 1 else "it"
    return f"{names} would be higher, but {exclusion(trace, computed.seq, above[0], them)}"


def grad_note(trace: Trace, computed: ev.KeySetComputed) -> str:
    """The sentences on which arguments require grad; empty without tensor arguments."""
    known = index(trace)
    tensors = list(dict.fromkeys(tensor for _, tensor, _ in computed.arguments))
    if not tensors:
        return ""
    needed = [tensor for tensor in tensors if known.grad_needed(tensor, computed.seq)]
    others = [tensor for tensor in tensors if tensor not in needed]
    if is_unseen(trace.header, ev.RequiresGradSet) and others:
        return ""
    return f"{_requiring(trace, computed, needed, tensors)} {_NO_KEY}"


_NO_KEY = "That makes no difference here: requires_grad never changes a tensor's dispatch keys."


def _requiring(trace: Trace, computed: ev.KeySetComputed, needed: list[int], tensors: list[int]) -> str:
    """The sentence on the arguments that require grad: ``Only x requires grad.``"""
    if not needed:
        name = tensor_name(trace, tensors[0], computed.seq)
        return f"{name} does not require grad." if len(tensors) == 1 else "None of them requires grad."
    who = f"{tensor_names(trace, needed, computed.seq)} {'require' if len(needed) > 1 else 'requires'} grad."
    return who if len(needed) == len(tensors) else f"Only {who}"
