"""``python -m tests.conformance.opinfo [name...]``: the differences of the named operators, grouped."""

from __future__ import annotations

import re
import sys
import time
import traceback
import warnings
from fnmatch import fnmatch

import torch
from torch.testing._internal.common_methods_invocations import op_db

from tests.conformance.opinfo.checks import Found, check
from tests.conformance.opinfo.functions import NotHere
from tests.conformance.opinfo.report import Report, report, table


def main(names: list[str]) -> None:
    """Print differences, then the table."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    reports, missing, slow = [], [], []
    for op in op_db:
        if names and not any(fnmatch(op.full_name, name) for name in names):
            continue
        start = time.time()
        try:
            reports.append(report(op.full_name, check(op)))
            show(reports[-1])
        except NotHere:
            missing.append(op.full_name)
        except Exception:
            print("=====", op.full_name)
            traceback.print_exc(file=sys.stdout)
        slow.append((round(time.time() - start, 1), op.full_name))
    missing += [one.name for one in reports if one.is_missing]
    print(table([one.row() for one in reports if not one.is_missing], missing))
    print(sorted(slow)[-25:], round(sum(x for x, _ in slow)))


_DTYPES = r"\b(float|double|long int|int|unsigned char|bool|Float|Double|Half|BFloat16|Complex\w+|Long|Int|Byte|Bool)\b"
_CHANGING = rf"torch\.\w+|c10::\S+|-?\d[\d.e+-]*j?|nan|inf|{_DTYPES}"
"""Words that differ between dtypes."""


def _kind(difference: str) -> str:
    there, _, here = re.sub(_CHANGING, "*", difference).partition(" | here ")
    return there[:80] + here[:80]


def show(one: Report) -> None:
    """Print the differences of one operator, and similar ones only once."""
    groups: dict[str, list[Found]] = {}
    for found in one.differing:
        groups.setdefault(_kind(found.difference), []).append(found)
    if groups:
        print("=====", one.name)
    for found in list(groups.values())[:30]:
        checks = list(dict.fromkeys(each.check for each in found))
        print(f"  x{len(found)} {', '.join(checks[:6])}{'...' if len(checks) > 6 else ''}")
        print("      " + found[0].difference.replace("\n", " ")[:260])
        print("      " + found[0].sample[:180])


main(sys.argv[1:])
