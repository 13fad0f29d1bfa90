"""Arguments on different devices, and tensors on ``meta``, which have no data."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dispatchviz.explain.diagnosis.arguments import (
    Argument,
    arguments,
    called,
    created,
    diagnosed,
    fact,
    module_of,
    reference,
)
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.modules import module_path, shown_module
from dispatchviz.explain.diagnosis.words import on_line, sentence
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.enclosing_steps import source_line, source_text
from dispatchviz.foundation.english import listed


def differing(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of arguments that are on two devices and must be on one."""
    found = arguments(failure)
    if len({each.device for each in found}) < 2:
        return None
    text = f"{called(failure)} takes tensors on one device, but {_where(found)}."
    return diagnosed(failure, Statement("devices: arguments differ", text), _moved(failure, found), found)


def _where(found: Sequence[Argument]) -> str:
    """Return the devices in words: ``x is on cpu and net.weight and net.bias are on cuda:0``."""
    parts = []
    for device in dict.fromkeys(each.device for each in found):
        names = list(dict.fromkeys(each.name for each in found if each.device == device))
        parts.append(f"{listed(names)} {'is' if len(names) == 1 else 'are'} on {device}")
    return listed(parts)


def _moved(failure: Failure, found: Sequence[Argument]) -> tuple[str, ...]:
    """Return fixes that move the arguments other than parameters to the parameters' device, or else those on the
    CPU.
    """
    parameter = next((each for each in found if module_path(failure.trace, each.tensor, failure.raised)), None)
    devices = dict.fromkeys(each.device for each in found)
    to = parameter.device if parameter is not None else next((each for each in devices if each != "cpu"), "cpu")
    if to == "meta":
        return (_filled(failure, next(each for each in found if each.device == "meta")),)
    one = next(each for each in found if each.device != to)
    if "indices should be" in failure.message:
        one = next((each for each in found if each.parameter.startswith("indices")), one)
        to = found[0].device
    it, made = reference(one, "the input"), created(failure, one)
    here = on_line(failure.trace, failure.raised, text=False)
    of = f", where {module_of(failure)} is" if parameter is not None and module_of(failure) else ""
    if one.device == "meta":
        return (_filled(failure, one),)
    if buffer := _unregistered(failure, one):
        return (buffer,)
    fixes = [f"Move {it} to {to}{of}, before {here}: {it if it == one.name else ''}.to({to!r})."]
    if made and it == one.name:
        fixes.append(f"Create {it} there: device={to!r} on {made}.")
    return tuple(fixes)


ATTRIBUTE = re.compile(r"self\.(\w+) = ")


def _unregistered(failure: Failure, one: Argument) -> str:
    """Return a fix for a tensor that a module's ``__init__`` stores as a plain attribute, which ``.cuda()`` of the
    module does not move.
    """
    line = source_line(failure.trace, one.made)
    attribute = ATTRIBUTE.match(source_text(failure.trace, line)) if line is not None else None
    if line is None or attribute is None or not line.function.endswith(".__init__"):
        return ""
    name = attribute[1]
    return (
        f"Register it on line {line.line}, self.register_buffer({name!r}, ...): the methods that move a module do not "
        f"move a tensor that is only an attribute, self.{name}."
    )


def _filled(failure: Failure, one: Argument) -> str:
    """Return a fix for a tensor on meta, which cannot be moved and must be created with data."""
    made, module = created(failure, one), shown_module(failure.trace, one.tensor, failure.raised)
    where = f" on {made}" if made else ""
    if module:
        return (
            f"Create {module.partition(' ')[0]} without device='meta'{where}, or call to_empty() and load its weights."
        )
    if "meta" not in made:
        return f"Compute {reference(one, 'the tensor')}{where} from tensors that are not on meta: those have data."
    return f"Create {reference(one, 'the tensor')} without device='meta'{where}: a tensor on meta has no data."


def no_data(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of an access to the values of a tensor on ``meta``."""
    one = next((each for each in arguments(failure) if each.device == "meta"), None)
    if one is None:
        return None
    text = (
        f"{called(failure)} needs the values of {one.name}, but {fact(one, 'devices')}, and a meta tensor has no data."
    )
    return diagnosed(failure, Statement("devices: a tensor without data", text), (_filled(failure, one),), (one,))


def no_cuda(failure: Failure) -> Diagnosis:
    """Return the diagnosis of a program that needs CUDA, on a machine or with a PyTorch that has none."""
    where = on_line(failure.trace, failure.raised)
    what = "this PyTorch was built without it" if "not compiled" in failure.message else "PyTorch finds no GPU here"
    text = f"{sentence(where)} needs CUDA, but {what}."
    fix = 'Choose the device at run time: device = "cuda" if torch.cuda.is_available() else "cpu".'
    if "deserialize" in failure.message:
        fix = 'Load the tensors onto the CPU: torch.load(..., map_location="cpu").'
    return diagnosed(failure, Statement("devices: no CUDA", text), (fix,))


RULES = (
    ("Torch not compiled with CUDA enabled", no_cuda),
    ("Found no NVIDIA driver on your system", no_cuda),
    ("No CUDA GPUs are available", no_cuda),
    ("Attempting to deserialize object on a CUDA device", no_cuda),
    ("Expected all tensors to be on the same device", differing),
    ("is not on the expected device", differing),
    ("should be the same", differing),
    ("indices should be either on cpu or on the same device", differing),
    ("cannot be called on meta tensors", no_data),
    ("Cannot copy out of meta tensor", no_data),
    ("Attempted to access the data pointer on an invalid", no_data),
)
