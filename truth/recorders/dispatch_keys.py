"""Keys and key sets of an installed PyTorch. Raw integers are decimal."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from truth import records
from truth.formats.json_text import json_text

C: Any = torch._C
LAST_KEY = 156
SAMPLES = 400


def names_of(ks: Any) -> list[str]:
    """The members of a key set in iteration order."""
    inside = C._dispatch_keyset_to_string(ks).removeprefix("DispatchKeySet(").removesuffix(")")
    return inside.split(", ") if inside else []


def key_names() -> list[str]:
    """The names of the keys by enum value."""
    return [C._dispatch_key_name(C.DispatchKey(value)) for value in range(LAST_KEY + 1)]


def aliases() -> dict[str, list[str]]:
    """The runtime keys that each alias covers."""
    runtime = names_of(C._dispatch_keyset_full())
    values = {C._dispatch_key_name(C.DispatchKey(v)): C.DispatchKey(v) for v in range(LAST_KEY)}
    found = [name for name, key in values.items() if C._dispatch_is_alias_key(key)]
    return {a: [n for n in runtime if C._dispatch_is_included_in_alias(values[n], values[a])] for a in found}


def parsed_names() -> list[str]:
    """The names that the string parser accepts."""
    return [name for name in dict.fromkeys(key_names()) if _parses(name)]


def _parses(name: str) -> bool:
    try:
        C._dispatch_key_parse(name)
    except RuntimeError:
        return False
    return True


def behind_autograd() -> dict[str, int]:
    """The backend keys that are checked before a composite kernel is chosen, for every runtime key."""
    keys = [key for key in (C.DispatchKey(value) for value in range(LAST_KEY)) if not C._dispatch_is_alias_key(key)]
    found = {C._dispatch_key_name(key): C._dispatch_get_backend_keyset_from_autograd(key).raw_repr() for key in keys}
    return {name: raw for name, raw in found.items() if raw}


PLAIN_DEVICES = ("cpu", "meta")
DEVICES = (
    *("cpu", "cuda", "hip", "xla", "mps", "ipu", "xpu", "hpu", "ve", "lazy", "mtia", "maia", "privateuseone", "meta"),
    *("fpga", "vulkan"),
)


class Anywhere(torch.Tensor):
    """A tensor on any device, also on one that this build cannot use."""

    @staticmethod
    def __new__(cls, device: str) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, (2,), dtype=torch.float32, device=device)

    @classmethod
    def __torch_dispatch__(cls, *call: Any) -> Any:
        raise NotImplementedError("nothing is computed with it")


def tensors() -> dict[str, int]:
    """The key set of a new tensor by ``device layout [quantized] [inference]``."""
    python = (1 << 28) | (1 << 56)  # the keys of the subclass
    found = {f"{device} strided": C._dispatch_keys(Anywhere(device)).raw_repr() & ~python for device in DEVICES}
    x = torch.ones(2, 2)
    found |= {
        "cpu sparse_coo": x.to_sparse(),
        "cpu sparse_csr": x.to_sparse_csr(),
        "cpu sparse_csc": x.to_sparse_csc(),
        "cpu sparse_bsr": x.to_sparse_bsr((1, 1)),
        "cpu mkldnn": x.to_mkldnn(),
        "meta sparse_coo": torch.empty(2, layout=torch.sparse_coo, device="meta"),
        "cpu strided quantized": torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
    }
    with torch.inference_mode():
        found |= {f"{device} strided inference": torch.ones(1, device=device) for device in PLAIN_DEVICES}
    return {name: t if isinstance(t, int) else C._dispatch_keys(t).raw_repr() for name, t in found.items()}


def named_sets() -> dict[str, int]:
    """The key sets that PyTorch exposes."""
    return {
        "FULL": C._dispatch_keyset_full().raw_repr(),
        "autogradother_backends": C._dispatch_autogradother_backends.raw_repr(),
        "default_included_set": C._dispatch_tls_local_include_set().raw_repr(),
        "default_excluded_set": C._dispatch_tls_local_exclude_set().raw_repr(),
        "after_autograd_keyset": C._dispatch_keyset_full_after(C.DispatchKey.AutogradOther).raw_repr(),
        "after_ADInplaceOrView_keyset": C._dispatch_keyset_full_after(C.DispatchKey.ADInplaceOrView).raw_repr(),
        "autograd_dispatch_keyset": _excluded_by(C._AutoDispatchBelowAutograd),
        "autograd_dispatch_keyset_with_ADInplaceOrView": _excluded_by(C._AutoDispatchBelowADInplaceOrView),
    }


def _excluded_by(guard: Any) -> int:
    before = C._dispatch_tls_local_exclude_set().raw_repr()
    with guard():
        return C._dispatch_tls_local_exclude_set().raw_repr() & ~before  # type: ignore[no-any-return]


def full_after() -> dict[str, int]:
    """FULL_AFTER of every key."""
    keys = map(C.DispatchKey, _values())
    return {C._dispatch_key_name(key): C._dispatch_keyset_full_after(key).raw_repr() for key in keys}


PLACEHOLDERS = (47, 48, 65, 82, 99, 116, 133)
"""Enum values that are not keys."""


def _values() -> list[int]:
    return [value for value in range(LAST_KEY) if value not in PLACEHOLDERS]


def algebra() -> list[list[Any]]:
    """Rows of random sets: [a, b, key value, a|b, a&b, a-b, a+key, a without key, a has key, highest of a, members of
    a].
    """
    rng = random.Random(0)
    rows = []
    for _ in range(SAMPLES):
        a, b = (_random_set(rng) for _ in range(2))
        value = rng.choice(_values())
        x, y, key = C.DispatchKeySet.from_raw_repr(a), C.DispatchKeySet.from_raw_repr(b), C.DispatchKey(value)
        results = [x | y, x & y, x - y, x.add(key), x.remove(key)]
        top = C._dispatch_key_name(x.highestPriorityTypeId())
        rows.append([a, b, value, *(r.raw_repr() for r in results), x.has(key), top, names_of(x)])
    return rows


def _random_set(rng: random.Random) -> int:
    """A set of few bits, so that every key is the highest of some set."""
    return sum({1 << rng.randrange(62) for _ in range(rng.randrange(8))})


def data() -> dict[str, Any]:
    """All stored data."""
    return {
        "torch": torch.__version__.partition("+")[0],
        "names": key_names(),
        "runtime": ["Undefined", *names_of(C._dispatch_keyset_full())],
        "aliases": aliases(),
        "full_after": full_after(),
        "bits": {C._dispatch_key_name(k): C.DispatchKeySet(k).raw_repr() for k in map(C.DispatchKey, _values())},
        "parsed": parsed_names(),
        "behind_autograd": behind_autograd(),
        "named": named_sets(),
        "tensors": tensors(),
        "algebra": algebra(),
    }


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    yield records.HERE / "dispatch_keys.json", json_text(data())
