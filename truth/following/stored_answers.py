"""The records that differ on the installed release, made again in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from truth.following import Left, some
from truth.record import RECORDERS, TORCH

ELSEWHERE = {"dispatch_keys", "dispatch_tables", "source_digests"}
"""Recorders of other subjects."""

ASK = """
import contextlib, json, sys
from truth import record
with contextlib.redirect_stdout(sys.stderr):
    found = record.made(sys.argv[1], check=True)
print(json.dumps(found))
"""


def left() -> Iterator[Left]:
    """Yield the records that differ, of all recorders that need no more than PyTorch."""
    for name, recorder in RECORDERS.items():
        if name not in ELSEWHERE and recorder.needs.startswith(TORCH):
            yield from some(name, differences(name), f"python -m truth.record {name}; git diff")


def differences(name: str) -> list[str]:
    """The names of what differs from a record, or the error of the recorder. The release itself does not count."""
    command = [sys.executable, "-W", "ignore", "-c", ASK, name]
    run = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    if run.returncode:
        return [f"the recorder fails: {(run.stderr.strip() or str(run.returncode)).splitlines()[-1]}"]
    return [one for one in json.loads(run.stdout.splitlines()[-1]) if one != "torch"]
