"""The engine for a program, and the reason: ``--engine auto`` decides by the names that the program uses.

The model runs a program if it has all names. Otherwise an installed PyTorch runs it. If none is installed, a program
that surely needs one is refused; one that may never reach the missing name runs on the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.live.installed_torch import DESCRIBED, WANTED, release
from dispatchviz.running.engine_choice.installed_release import InstalledRelease, installed_release
from dispatchviz.running.engine_choice.model_names import METHODS, OF_WRITERS, WRITER, standing
from dispatchviz.running.engine_choice.program_names import MOST_FILES, MOST_TEXT, PlacedUse, ProgramNames, names_of
from dispatchviz.running.engine_choice.requested_engine import EngineName
from dispatchviz.running.program_source import Source


class Choice(NamedTuple):
    """An engine, and why ``--engine auto`` chose it."""

    engine: EngineName
    reason: str = ""
    """A sentence for readers; empty if the user named the engine, and for the model if it has all names."""


ON_MODEL = Choice("model")


LACKS = "is not in the model"

CUT = f"the program has more than {MOST_FILES} files or {MOST_TEXT:,} characters, so not all of its names were read"

ASKS_FOR_GPU = ("torch.cuda.is_available", "torch.cuda.device_count", "torch.accelerator.")


class NeedsTorchError(DispatchvizError):
    """Raised for a program that surely needs an installed PyTorch, if there is none, or if an option excludes it."""


class Missing(NamedTuple):
    """A name or a package that decides against the model."""

    use: PlacedUse
    fact: str
    """The reason without its end: ``torch.fx is not in the model``."""
    surely: bool
    """True if the program surely fails there on the model."""
    unknown: bool = False
    """True if PyTorch 2.14 does not have the name either."""


def automatic_choice(
    program: Source,
    only_model: str = "",
    known: Mapping[str, str] = MappingProxyType({}),
    arguments: Sequence[str] = (),
) -> Choice:
    """Choose the engine for a program with its arguments. ``only_model`` is a given option that only the model has, and
    ``known`` has the meanings of variables that the program finds: ``F`` -> ``torch.nn.functional``.

    Raise NeedsTorchError for a program that surely needs an installed PyTorch and cannot have it.
    """
    names = names_of(program, known, arguments)
    if names.names_the_model:
        return ON_MODEL
    installed = installed_release()
    described = installed is not None and release(installed.number) == DESCRIBED
    missing = [each for each in _missing_names(names) if not (described and each.unknown)]
    usable = installed if installed is not None and installed.recordable else None
    if usable is not None:
        missing += _needing_packages(names)
    if not missing:
        if usable is None or only_model or not names.is_cut:
            return ON_MODEL
        return Choice("torch", f"{CUT}; recorded on the installed PyTorch {usable.number}. --engine model insists")
    sure = next((each for each in missing if each.surely), None)
    if usable is None or only_model:
        if sure is not None:
            raise NeedsTorchError(_refusal(sure, installed, only_model))
        return ON_MODEL
    return _installed_or_model(sure or missing[0], missing, names, usable)


def _installed_or_model(
    decisive: Missing, missing: list[Missing], names: ProgramNames, usable: InstalledRelease
) -> Choice:
    """Choose the installed PyTorch, except for a program that needs a GPU which only the model has."""
    fact, number = _fact(decisive, missing), usable.number
    if not names.cuda or usable.has_gpu:
        return Choice("torch", f"{fact}; recorded on the installed PyTorch {number}. --engine model insists")
    if not _asks_for_gpu(names) and not any(each.use.name in names.packages for each in missing):
        reason = (
            f"line {decisive.use.line}: {fact}. The installed PyTorch {number} has no GPU for cuda (line "
            f"{names.cuda[0].line}), so the model runs the program up to that name. --engine torch insists"
        )
        return Choice("model", reason)
    return Choice(
        "torch", f"{fact}; recorded on the installed PyTorch {number}, which has no GPU. --engine model insists"
    )


def _asks_for_gpu(names: ProgramNames) -> bool:
    """Return whether the program looks for a GPU before it uses one."""
    return any(each.name.startswith(ASKS_FOR_GPU) for each in names.uses)


def _missing_names(names: ProgramNames) -> Iterator[Missing]:
    """Yield the names that the model lacks or has only in part, in the order of the text."""
    for use in names.uses:
        kind = standing(use.name)
        if kind == "has" or _is_checked(use.name, names.checked):
            continue
        if kind == "stand-in":
            yield Missing(use, f"{use.name} only returns its argument in the model", False)
        else:
            yield Missing(use, f"{use.name} {LACKS}", use.surely and kind == "lacks", kind == "unknown")
    writes = any(use.name.startswith(WRITER) for use in names.uses)
    for use in names.attributes:
        if use.name in METHODS and use.name not in names.defined:
            yield Missing(use, f"the attribute {use.name} of tensors {LACKS}", False)
        elif writes and use.name in OF_WRITERS:
            yield Missing(use, f"SummaryWriter.{use.name} {LACKS}", False)


def _is_checked(name: str, checked: set[str]) -> bool:
    """Return whether the program checks that a name, or the module that it belongs to, exists."""
    parts = name.split(".")
    modules = [".".join(parts[:number]) for number in range(2, len(parts))]
    return name in checked or any(each in checked and standing(each) == "lacks" for each in modules)


def _needing_packages(names: ProgramNames) -> Iterator[Missing]:
    if not names.packages:
        return
    from dispatchviz.running.engine_choice.packages import needs_torch  # loads the library that reads metadata

    for package, use in names.packages.items():
        if needs_torch(package, names.modules):
            yield Missing(use, f"{package} needs a real PyTorch", use.surely)


def _fact(decisive: Missing, missing: list[Missing]) -> str:
    """Return the reason for one of the missing names, with the number of the others."""
    others = len({each.use.name for each in missing if each.fact.endswith(LACKS)} - {decisive.use.name})
    if not others or not decisive.fact.endswith(LACKS):
        return decisive.fact
    return f"{decisive.fact} (nor {'is 1 other name' if others == 1 else f'are {others} other names'})"


def _refusal(missing: Missing, installed: InstalledRelease | None, only_model: str) -> str:
    """Return the error for a program that surely needs an installed PyTorch."""
    fact = f"{missing.use.place}: {missing.fact}"
    if only_model:
        return f"{fact}, and {only_model} works only on the model. Leave {only_model} out"
    if installed is None:
        there, install = "no PyTorch is installed here", "pip install torch"
    else:
        there = f"the installed PyTorch {installed.number} cannot be recorded ({WANTED} can)"
        install = "pip install --upgrade torch"
    return f"{fact}, and {there}. To record it: {install}, then the same command"
