"""Readers of sentences about key sets, which look up each named key in the raw sets of its event."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from dispatchviz.core.keys.key_set import (
    FULL,
    autocast_dispatch_keyset,
    autograd_dispatch_keyset,
    default_included_set,
    raw,
)
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.explain.calls.key_set_card import KeySetCard, key_set_card
from dispatchviz.explain.calls.key_set_stages import stage_sentence, stages_at
from dispatchviz.explain.keys.key_text import functionalities
from tests.claims.together.reading import Problems, Step, beside, reads

BACKENDS = 0xFFFF

GROUPS = {"the autograd keys": autograd_dispatch_keyset, "the autocast keys": autocast_dispatch_keyset}

FRONT, BACK = DispatchKey.FuncTorchDynamicLayerFrontMode, DispatchKey.FuncTorchDynamicLayerBackMode

KEY = r"[A-Z]\w+"
LISTED = r"[\w ,]+?"


def bits(text: str) -> int:
    """Return the functionality bits of the keys that a text lists: ``the autograd keys, Tracer and Python``."""
    found = 0
    for name in re.split(r", | and ", text):
        found |= GROUPS[name] if name in GROUPS else raw(DispatchKey[name])
    return found & ~BACKENDS


def top(raw_set: int) -> int:
    """Return the highest functionality bit of a set, or 0 if it has none."""
    return 1 << raw_set.bit_length() - 1 if raw_set > BACKENDS else 0


def names(raw_set: int) -> str:
    """Return the functionalities of a set, for a problem."""
    return ", ".join(key.name for key in functionalities(raw_set)) or "none"


def differs(text: str, expected: int) -> Iterator[str]:
    """Yield a problem if a list of keys differs from the set."""
    if bits(text) != expected & ~BACKENDS:
        yield f"the keys are {names(expected)}"


# -- the key set of a call --------------------------------------------------------------------------------------------


@reads(rf"({KEY}) is the highest key left, so it wins", "key set: autograd wins", "key set: highest wins")
@reads(rf"({KEY}) is the highest key left, so it wins", "key set: higher keys excluded")
def highest_left(step: Step, found: re.Match[str]) -> Problems:
    if bits(found[1]) != top(step.event.effective):
        yield f"left are {names(step.event.effective)}"


@reads(rf"\. ({LISTED}) would be higher, but", "key set: higher keys excluded")
def kept_out(step: Step, found: re.Match[str]) -> Problems:
    text = found[1].strip()
    event = step.event
    lost = event.with_included & ~event.without_excluded & ~autocast_dispatch_keyset & ~BACKENDS
    winner = top(event.effective)
    yield from differs(text, lost & ~(2 * winner - 1))


@reads(r"no key is left, so Undefined wins: (.*)\.", "key set: empty")
def nothing_left(step: Step, found: re.Match[str]) -> Problems:
    event = step.event
    if event.effective > BACKENDS:
        yield f"left are {names(event.effective)}"
    excluded = event.with_included & ~event.without_excluded
    clauses = {
        rf"the thread-local exclude set removes ({LISTED})(?:$|, the | and the operator)": excluded,
        rf"the operator's mask removes ({LISTED})$": event.without_excluded & ~event.effective,
    }
    for pattern, lost in clauses.items():
        listed = re.search(pattern, found[1])
        if (listed is not None) != (lost > BACKENDS):
            yield f"lost are {names(lost)}"
        elif listed is not None:
            yield from differs(listed[1], lost)
    if ("no argument" in found[1]) != (event.united <= BACKENDS):
        yield f"the arguments have {names(event.united)}"


@reads(r"no argument is a tensor", "key set: highest wins", "key set: higher keys excluded", "key set: empty")
def no_tensor(step: Step, found: re.Match[str]) -> Problems:
    if step.event.arguments:
        yield f"{len(step.event.arguments)} arguments are tensors"


@reads(r"(?:this key|it) is in the thread-local include set by default", "key set: highest wins")
@reads(r"(?:this key|it) is in the thread-local include set by default", "key set: higher keys excluded")
def by_default(step: Step, found: re.Match[str]) -> Problems:
    if not top(step.event.effective) & default_included_set & step.event.included:
        yield f"by default the thread includes {names(default_included_set)}"


@reads(r"as every ordinary tensor does|as every (\w+) tensor does", "key set: highest wins")
@reads(r"as every ordinary tensor does|as every (\w+) tensor does", "key set: higher keys excluded")
@reads(r"and every ordinary (\w+) tensor has this key", "key set: autograd wins")
def every_tensor(step: Step, found: re.Match[str]) -> Problems:
    """The arguments are an example: each tensor of that kind among them has the key."""
    winner = top(step.event.effective)
    backend = raw(DispatchKey[found[1]]) & BACKENDS if found.lastindex and found[1] else 0
    for name, _, keys in step.event.arguments:
        if (not backend or keys & backend) and not keys & winner and keys & raw(DispatchKey.ADInplaceOrView):
            yield f"{name} is one and does not have it"


@reads(r"^(.*?) (?:was|were) in the key set", "fallthrough skipped")
def was_in_the_set(step: Step, found: re.Match[str]) -> Problems:
    call = next(each for each in step.trace.ancestors(step.seq) if isinstance(each, ev.Dispatched))
    computed = next(each for each in step.trace.children(call.seq) if isinstance(each, ev.KeySetComputed))
    yield from differs(found[1], computed.without_excluded & ~computed.effective)


@reads(r"(\w+) is the highest key in the call's key set", "call: highest key")
def selects(step: Step, found: re.Match[str]) -> Problems:
    if bits(found[1]) != top(step.event.key_set):
        yield f"the set has {names(step.event.key_set)}"


@reads(r"is still computed from the arguments: 0x(\w+), which includes (\w+)", "call for a key")
def given_key(step: Step, found: re.Match[str]) -> Problems:
    if found[2] != step.event.key or not int(found[1], 16) & bits(found[2]):
        yield f"the set has {names(int(found[1], 16))}"


@reads(r"its dispatch table entry is empty", "cell is empty")
def empty_cell(step: Step, found: re.Match[str]) -> Problems:
    if step.event.kernel or any(outcome == "taken" for _, outcome, _ in step.event.candidates):
        yield f"it holds {step.event.kernel}"


@reads(r"which keeps every key below the autograd keys\. That leaves 0x(\w+)", "redispatch")
def below_autograd(step: Step, found: re.Match[str]) -> Problems:
    if int(found[1], 16) >= raw(DispatchKey.AutogradOther) & ~BACKENDS:
        yield f"it keeps {names(int(found[1], 16))}"


@reads(r"keeps every key below (\w+)\. That leaves 0x(\w+)", "redispatch")
def below_a_key(step: Step, found: re.Match[str]) -> Problems:
    if found[1] != "the" and int(found[2], 16) >= bits(found[1]):
        yield f"it keeps {names(int(found[2], 16))}"


# -- guards -----------------------------------------------------------------------------------------------------------


@reads(r"^The guard \S+ (.*?) until it ends, because ", "guard")
def guard_changes(step: Step, found: re.Match[str]) -> Problems:
    event = step.event
    changes = {
        ("adds", "exclude"): event.excluded & ~event.excluded_before,
        ("removes", "exclude"): event.excluded_before & ~event.excluded,
        ("adds", "include"): event.included & ~event.included_before,
        ("removes", "include"): event.included_before & ~event.included,
    }
    parts = re.findall(r"(adds|removes) (.+?) (?:to|from) the thread-local (exclude|include) set", found[1])
    listed = {(verb, place): keys for verb, keys, place in parts}
    for change, changed in changes.items():
        if (change in listed) != bool(changed & ~BACKENDS):
            yield f"{' '.join(change)}: {names(changed)}"
        elif change in listed:
            yield from differs(listed[change], changed)


@reads(rf"from (\w+) down to (\w+) only ({LISTED}) remain", "guard", "key set: higher keys excluded")
def only_these_remain(step: Step, found: re.Match[str]) -> Problems:
    """Compare with the keys of a range that the guard around does not exclude."""
    high, low = bits(found[1]), bits(found[2])
    whole = (2 * high - 1) & ~(low - 1)
    event = step.event
    if isinstance(event, ev.KeySetComputed):
        guards = (each for each in step.trace.ancestors(step.seq) if isinstance(each, ev.GuardEntered))
        event = next(each for each in guards if each.guard == "SaveLocalDispatchKeySet")
    yield from differs(found[3], whole & ~event.excluded)


@reads(r"calls can reach autograd again", "guard ended")
def reaches_autograd(step: Step, found: re.Match[str]) -> Problems:
    if step.event.excluded & autograd_dispatch_keyset == autograd_dispatch_keyset:
        yield "the thread still excludes the autograd keys"


@reads(r"changes nothing, because its keys are already set", "idle guard")
def changes_nothing(step: Step, found: re.Match[str]) -> Problems:
    event = step.event
    if (event.included, event.excluded) != (event.included_before, event.excluded_before):
        yield "the sets change"


@reads(r"its calls on plain tensors go straight to the backend", "mode called", "tensor subclass called")
def straight_to_the_backend(step: Step, found: re.Match[str]) -> Problems:
    python = raw(DispatchKey.Python) & ~BACKENDS
    for call in step.trace.children(step.seq):
        if not isinstance(call, ev.Dispatched):
            continue
        computed = next((each for each in step.trace.children(call.seq) if isinstance(each, ev.KeySetComputed)), None)
        if computed is None or computed.united & python or computed.included & python:
            continue
        if top(call.key_set) > python:
            yield f"{call.operator} goes to {call.key}"


# -- lists and panes --------------------------------------------------------------------------------------------------

SHOWN_SET = re.compile(r"0x([0-9a-f]+) \(([^()]*)\)")


@beside
def every_key_beside_its_number(step: Step) -> Problems:
    """``0x1000010002 (AutogradCUDA, CUDA)``: the list has the keys of the number, the highest first."""
    for number, listed in SHOWN_SET.findall(step.text):
        keys = int(number, 16)
        functionalities = [bits(name) for name in listed.split(", ")] if listed != "no keys" else []
        if sum(dict.fromkeys(functionalities)) != keys & ~BACKENDS:
            yield f"{number} has {names(keys)}"
        if functionalities != sorted(functionalities, reverse=True):
            yield f"{listed} is in another order than {number}"


ALL_EXCLUDED = re.compile(r"\ball (keys but|of them are excluded|keys are excluded)")


@beside
def what_is_called_excluded_or_empty_is(step: Step) -> Problems:
    """No key may remain where all are called excluded, and none may be left where a set is called empty."""
    event = step.event
    if isinstance(event, ev.GuardEntered) and ALL_EXCLUDED.search(step.text):
        yield f"not excluded are {names(FULL & ~event.excluded)}"
    if isinstance(event, ev.KeySetComputed):
        if "all of them are excluded" in step.text and event.without_excluded > BACKENDS:
            yield f"not excluded are {names(event.without_excluded)}"
        if re.search(r"set is empty|no key is left", step.text, re.IGNORECASE) and event.effective > BACKENDS:
            yield f"left are {names(event.effective)}"


@beside
def the_row_and_the_key_set_pane_have_one_winner(step: Step) -> Problems:
    if not isinstance(step.event, ev.Dispatched):
        return
    card = key_set_card(step.trace, step.seq)
    shown = step.row.rpartition(" → ")[2]
    if card is None or card.winner != shown or shown != step.event.key:
        yield f"the row goes to {shown}, the pane to {card and card.winner}"


@beside
def the_key_set_pane_says_of_each_key_what_the_sets_say(step: Step) -> Problems:
    """The pane gives reasons for keys in the set and against others; exactly one wins."""
    if not isinstance(step.event, ev.KeySetComputed):
        return
    card = key_set_card(step.trace, step.seq)
    assert card is not None
    for key, reason in card.reasons:
        yield from _reason(step.event, key, reason)
    winners = [key for key, reason in card.reasons if "so it wins" in reason]
    if [bits(key) for key in winners] != [top(step.event.effective)][: len(winners)] or len(winners) > 1:
        yield f"{winners} win, left are {names(step.event.effective)}"


def _reason(event: ev.KeySetComputed, key: str, reason: str) -> Problems:
    bit = bits(key)
    told = {
        "not in the key set": not event.effective & bit,
        "excludes it|exclude set has it": not event.without_excluded & bit,
        "mask removes such keys": bool(event.without_excluded & ~event.effective & bit),
        "is in the key set, but": bool(event.effective & bit) and bit != top(event.effective),
        "is in the thread-local include set": bool(event.included & bit),
    }
    for words, is_true in told.items():
        if re.search(rf"\b(?<!not )(?:{words})", reason, re.IGNORECASE) and not is_true:
            yield f"{key}: {reason} But the set is {names(event.effective)}"


@beside
def the_stages_of_the_key_set_pane(step: Step) -> Problems:
    """Each sub-step of the pane begins where the previous one ended."""
    if not isinstance(step.event, ev.Dispatched):
        return
    card = key_set_card(step.trace, step.seq)
    assert card is not None
    for stage in stages_at(step.trace, step.seq):
        yield from _stage(step, card, stage_sentence(card, stage))


def _stage(step: Step, card: KeySetCard, text: str) -> Problems:
    rows = {row.title: row.raw for row in card.rows}
    match text.partition(": ")[::2]:
        case "winner", reason if "is the highest key of {" in reason:
            winner, _, keys = reason.partition(" is the highest key of {")
            listed = keys.rstrip("}").split(", ")
            if winner != step.event.key or listed[0] != winner or not _is(listed, step.event.key_set):
                yield f"{text}, the set is {names(step.event.key_set)}"
        case "winner", reason:
            if step.event.key_set > BACKENDS:
                yield f"{text}, the set is {names(step.event.key_set)}"
        case "united", said if "so the key set is empty" in said:
            if rows["united"]:
                yield f"{text}, the arguments have {names(rows['united'])}"
        case "excluded", said if "removes nothing" in said:
            if (rows["united"] | rows["included"]) & rows["excluded"] & ~BACKENDS:
                yield f"{text}, {names(rows['excluded'])} are excluded"
        case _:
            pass


def _is(listed: Iterable[str], raw_set: int) -> bool:
    return sum({bits(name) for name in listed}) == raw_set & ~BACKENDS
