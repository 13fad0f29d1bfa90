"""Questions about the dispatcher: which key wins, and which registration fills the dispatch table entry."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.cell_card import Candidate, cell_card
from dispatchviz.explain.calls.key_set_card import KeySetCard, key_set_card
from dispatchviz.explain.calls.key_set_lanes import ARGUMENTS, EXCLUDED, INCLUDED, UNITED, Lane, lanes
from dispatchviz.explain.keys.key_text import is_autograd, is_backend
from dispatchviz.explain.kinds.dispatch import key_set
from dispatchviz.explain.predictions.prediction import MOST, Kind, Prediction, is_outer, prediction
from dispatchviz.explain.sentences.kernel_sentences import named, subject
from dispatchviz.explain.sentences.statement import text_of
from dispatchviz.explain.trace_index.enclosing_steps import kernel_before, within

SHOWN = 3
"""The number of arguments whose sets are shown before the answer."""

UNASKED = "callBoxedForDispatchKey"
"""The calls whose key is given, so that no key wins."""


def which_key(trace: Trace, call: ev.Dispatched) -> Prediction | None:
    """The question before a call or a redispatch."""
    card = None if call.how == UNASKED else key_set_card(trace, call.seq)
    if card is None:
        return None
    computed = within(trace, call.seq, ev.KeySetComputed)
    reasons = _with_absent(card) if computed is not None and not computed.arguments else list(card.reasons)
    choices = [*_tempting(reasons, card.winner), _no_key(trace, card, computed)]
    return prediction(
        Kind.KEY,
        _key_question(trace, call, computed is not None),
        choices,
        NO_KEY if card.winner == DispatchKey.Undefined.name else card.winner,
        call.seq,
        _key_topic(trace, call, computed),
        _known(card),
        is_outer(trace, call.seq),
    )


NO_KEY = "Undefined: no key is left"
"""The choice that no key wins."""


def _no_key(trace: Trace, card: KeySetCard, computed: ev.KeySetComputed | None) -> tuple[str, str]:
    if card.winner != DispatchKey.Undefined.name:
        return NO_KEY, f"A call goes to Undefined only if no key is left, but {card.winner} is left."
    if computed is None:
        return NO_KEY, "The given key set is empty."
    return NO_KEY, text_of([key_set(trace, computed)])


def _key_question(trace: Trace, call: ev.Dispatched, is_call: bool) -> str:
    kernel = kernel_before(trace, call)
    if is_call or kernel is None:
        return f"{call.operator} is called. Which key wins?"
    return f"{subject(kernel.kernel)} redispatches {call.operator}. Which key is next?"


ABSENT = {"AutogradCPU": DispatchKey.AutogradFunctionality, "CPU": DispatchKey.Dense}
"""Keys that a reader may expect in a call without tensors, and their places in the order."""


def _with_absent(card: KeySetCard) -> list[tuple[str, str]]:
    """The keys of the call and the expected keys that are absent, highest first."""
    reason = (
        "It is not in the key set, because no argument is a tensor and the thread-local include set does not have it."
    )
    known = dict(card.reasons)
    found = known | {name: reason for name in ABSENT if name not in known}
    return sorted(found.items(), key=lambda pair: ABSENT.get(pair[0]) or DispatchKey[pair[0]], reverse=True)


def _tempting(reasons: list[tuple[str, str]], winner: str) -> list[tuple[str, str]]:
    """The winner and the keys nearest to it. Autocast keys come last, because every set has them and they seldom
    matter.
    """
    others = [pair for pair in reasons if pair[0] != winner]
    others.sort(key=lambda pair: pair[0].startswith("Autocast"))
    return [pair for pair in reasons if pair[0] == winner or pair in others[: MOST - 2]]


def _key_topic(trace: Trace, call: ev.Dispatched, computed: ev.KeySetComputed | None) -> tuple[object, ...]:
    if computed is None:
        kernel = kernel_before(trace, call)
        return ("redispatch", kernel.key_set if kernel else 0, call.key_set)
    return (computed.united, computed.included, computed.excluded, computed.effective)


def _known(card: KeySetCard) -> Iterator[str]:
    """The sets before the mask. The answer is what remains after it."""
    found = [lane for lane in lanes(card) if lane.stage in (*GIVEN, INCLUDED, EXCLUDED) and lane.title != "united"]
    sets = [lane for lane in found if lane.stage in GIVEN]
    if not sets:
        yield "no argument is a tensor"
    yield from (f"{lane.title}: {', '.join(lane.keys)}" for lane in sets[:SHOWN])
    yield from (f"{THREAD_SETS[lane.stage]} {_listed(lane)}" for lane in found if lane.stage not in GIVEN)


GIVEN = (ARGUMENTS, UNITED)
"""The stages of the sets that arguments bring. If the sets differ, they are united first."""

THREAD_SETS = {INCLUDED: "the thread-local include set adds", EXCLUDED: "the thread-local exclude set removes"}


def _listed(lane: Lane) -> str:
    return ", ".join(lane.keys) or "nothing"


# -- the cell ----------------------------------------------------------------------------------------------------------


def which_kernel(trace: Trace, selected: ev.KernelSelected) -> Prediction | None:
    """The question before a dispatch table entry is looked up."""
    card = cell_card(trace, selected.seq)
    if card is None or card.reason == "ambiguous autogradother":
        return None
    candidates = _kept(card.candidates)
    choices = [(_source(each, card.key), _outcome(each, card.candidates, card.why)) for each in candidates]
    empty = "nothing: the entry is empty"
    full = f"The entry is not empty. It holds {named(card.kernel)}."
    choices.append((empty, card.why if card.reason == "missing" else full))
    taken = next((_source(each, card.key) for each in candidates if each.taken), empty)
    return prediction(
        Kind.CELL,
        f"What fills the dispatch table entry of {card.operator} for {card.key}?",
        choices,
        taken,
        selected.seq,
        (card.reason, is_autograd(card.key), is_backend(card.key)),
        (),
        is_outer(trace, selected.seq),
    )


KEPT = ("CompositeExplicitAutograd", "CompositeImplicitAutograd", "Autograd")
"""The aliases for which most operators are registered."""


def _kept(candidates: tuple[Candidate, ...]) -> list[Candidate]:
    """The candidate that is taken, and the most plausible others."""
    last = len(candidates) - 1
    ranked = sorted(
        range(len(candidates)),
        key=lambda at: (not candidates[at].taken, at not in (0, last), candidates[at].source not in KEPT, at),
    )
    return [candidates[at] for at in sorted(ranked[: MOST - 2])]


def _source(candidate: Candidate, key: str) -> str:
    if candidate.source == key:
        return f"the kernel registered for {key} itself"
    if candidate.source.startswith("fallback of "):
        return f"the fallback of {key}, one for all operators"
    return f"the kernel of the alias key {candidate.source}"


def _outcome(candidate: Candidate, candidates: tuple[Candidate, ...], why: str) -> str:
    if candidate.taken:
        return why
    before = next((each for each in candidates if each.taken), None)
    match candidate.outcome:
        case "nothing registered":
            return "Nothing is registered there."
        case "not reached":
            first = "another registration" if before is None else before.source
            return f"PyTorch does not look for it, because {first} comes before it and has a kernel."
        case outcome if outcome.startswith("does not cover"):
            return f"The kernel exists, but the alias {candidate.source} {outcome}."
        case outcome:
            return f"The kernel exists, but PyTorch passes it over: {outcome}."
