"""Writes what an installed PyTorch says about keys and key sets to ``tests/data/dispatch_keys.json``.

    python scripts/snapshot_keys.py

Needs torch and nothing else. Raw integers are decimal.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import torch

C: Any = torch._C
DATA = Path(__file__).parent.parent / "tests/data/dispatch_keys.json"
LAST_KEY = 156
SAMPLES = 400


def names_of(ks: Any) -> list[str]:
    """Members of a key set in iteration order."""
    inside = C._dispatch_keyset_to_string(ks).removeprefix("DispatchKeySet(").removesuffix(")")
    return inside.split(", ") if inside else []


def key_names() -> list[str]:
    """By enum value."""
    return [C._dispatch_key_name(C.DispatchKey(value)) for value in range(LAST_KEY + 1)]


def aliases() -> dict[str, list[str]]:
    """Runtime keys that each alias covers."""
    runtime = names_of(C._dispatch_keyset_full())
    values = {C._dispatch_key_name(C.DispatchKey(v)): C.DispatchKey(v) for v in range(LAST_KEY)}
    found = [name for name, key in values.items() if C._dispatch_is_alias_key(key)]
    return {a: [n for n in runtime if C._dispatch_is_included_in_alias(values[n], values[a])] for a in found}


def full_after() -> dict[str, int]:
    """FULL_AFTER of every key up to the last functionality, by enum value."""
    keys = (C.DispatchKey(value) for value in range(1, 150) if value not in (47, 48, 65, 82, 99, 116, 133))
    return {C._dispatch_key_name(key): C._dispatch_keyset_full_after(key).raw_repr() for key in keys}


def algebra() -> list[list[Any]]:
    """Random sets: [a, b, key value, a|b, a&b, a-b, a+key, a without key, a has key, highest of a, members of a]."""
    rng = random.Random(0)
    rows = []
    for _ in range(SAMPLES):
        a, b = (_random_set(rng) for _ in range(2))
        value = rng.choice([v for v in range(1, LAST_KEY) if v not in (47, 48, 65, 82, 99, 116, 133)])
        x, y, key = C.DispatchKeySet.from_raw_repr(a), C.DispatchKeySet.from_raw_repr(b), C.DispatchKey(value)
        results = [x | y, x & y, x - y, x.add(key), x.remove(key)]
        top = C._dispatch_key_name(x.highestPriorityTypeId())
        rows.append([a, b, value, *(r.raw_repr() for r in results), x.has(key), top, names_of(x)])
    return rows


def _random_set(rng: random.Random) -> int:
    """Few bits, so that every key is the highest of some set."""
    return sum({1 << rng.randrange(62) for _ in range(rng.randrange(8))})


def main() -> None:
    """Writes the file."""
    data = {
        "torch": torch.__version__.partition("+")[0],
        "names": key_names(),
        "runtime": ["Undefined", *names_of(C._dispatch_keyset_full())],
        "aliases": aliases(),
        "full_after": full_after(),
        "included": C._dispatch_tls_local_include_set().raw_repr(),
        "excluded": C._dispatch_tls_local_exclude_set().raw_repr(),
        "tensors": {
            "cpu": C._dispatch_keys(torch.ones(1)).raw_repr(),
            "meta": C._dispatch_keys(torch.ones(1, device="meta")).raw_repr(),
        },
        "algebra": algebra(),
    }
    with torch.inference_mode():
        data["tensors"]["cpu inference"] = C._dispatch_keys(torch.ones(1)).raw_repr()
    DATA.write_text(json.dumps(data, separators=(",", ":")).replace("],[", "],\n[") + "\n")


if __name__ == "__main__":
    main()
