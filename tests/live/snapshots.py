"""Small snapshots of two releases of a PyTorch with four operators."""

from __future__ import annotations

from typing import Any

import msgspec

from dispatchviz.core.keys.keys import ALIAS_MEMBERS
from dispatchviz.live.registration import Registration
from dispatchviz.live.snapshot import VERSION, Operator, Snapshot

SCHEMA_FILE = "build/aten/src/ATen/RegisterSchema.cpp"


def kernels(text: str) -> tuple[Registration, ...]:
    """Return kernels from lines ``KEY KIND FILE:LINE``."""
    return tuple(Registration(*line.split()) for line in text.strip().splitlines())  # type: ignore[arg-type]


def operator(schema: str, text: str = "") -> Operator:
    return Operator(schema.partition("(")[0], schema, f"{SCHEMA_FILE}:6", kernels(text))


OLD = Snapshot(
    VERSION,
    "2.9.0+cpu",
    "CPU",
    False,
    "0fabc3ba",
    ("CPU", "CUDA", "Meta", "BackendSelect", "Python", "Fake", "Named", "AutogradCPU", "AutogradCUDA", "Tracer"),
    {alias.name: tuple(key.name for key in sorted(found)) for alias, found in ALIAS_MEMBERS.items()},
    {"aten": f"{SCHEMA_FILE}:6"},
    kernels("Meta boxed aten/src/ATen/core/MetaFallbackKernel.cpp:23"),
    (
        operator(
            "aten::add.Tensor(Tensor self, Tensor other) -> Tensor",
            """
            CPU unboxed build/aten/src/ATen/RegisterCPU_0.cpp:10
            Meta boxed torch/_meta_registrations.py:50
            Meta unboxed build/aten/src/ATen/RegisterMeta_0.cpp:20
            Autograd unboxed torch/csrc/autograd/generated/VariableType_2.cpp:30
            """,
        ),
        operator("aten::add.Scalar(Tensor self, Scalar other) -> Tensor"),
        operator(
            "aten::tril(Tensor self, int diagonal=0) -> Tensor",
            """
            CPU unboxed build/aten/src/ATen/RegisterCPU_1.cpp:11
            Autograd unboxed torch/csrc/autograd/generated/VariableType_1.cpp:31
            """,
        ),
        operator(
            "aten::ldexp(Tensor self, Tensor other) -> Tensor",
            "CompositeImplicitAutograd unboxed build/aten/src/ATen/RegisterCompositeImplicitAutograd_0.cpp:40",
        ),
    ),
)


def changed(snapshot: Snapshot, **fields: Any) -> Snapshot:
    """Return the same snapshot with other values."""
    return msgspec.structs.replace(snapshot, **fields)


def with_kernels(snapshot: Snapshot, name: str, text: str) -> Snapshot:
    """Return the same snapshot with other kernels for an operator."""
    replaced = [
        msgspec.structs.replace(one, kernels=kernels(text)) if one.name == name else one for one in snapshot.operators
    ]
    return changed(snapshot, operators=tuple(replaced))
