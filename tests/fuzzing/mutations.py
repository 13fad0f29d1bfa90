"""Damages to a trace. Each is a function of the lines of one trace, of other traces, and of a random generator.

``damaged`` chooses among them and returns the bytes of a file and its suffix.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from dispatchviz.core.record.trace_file import Trace, TraceError
from dispatchviz.core.record.trace_file.blocks import FRAME_SIZE, INDEX, block

Lines = list[bytes]

TRAILER_SIZE = 20

NUMBERS = (
    -1, 0, 1, 2, 3, 7, 16, 63, 64, 100, 136, 137, 255, 1000, 65535, 65536, 10**6, 2**31 - 1, 2**31, 2**32 - 1, 2**32,
    2**53, 2**61, 2**62 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**31), -(2**63), -(2**64), 10**100, 10**4000,
)  # fmt: skip
INPLACE = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: "
    "[torch.FloatTensor [2]], which is output 0 of ExpBackward0, is at version 1; expected version 0 instead. Hint: "
)
TEXTS = (
    "", " ", "\n", "\0", "\x1b[2J", "a\nb", "t3", "t-1", "aten::add.Tensor", "aten::", "::", ".", "nope::nope", "CPU",
    "AutogradCUDA", "Undefined", "torch.float32", "cuda:99", "cuda", "[t1, t2, ...]", "(", "\\", "%s{}", "\u202e",
    "\ud800", "\U0001f600" * 20, "x" * 5000, "../../../../etc/passwd", "core/generated/variable_type.py", "/dev/zero",
    "None",
    "call", "redispatch", "new", "stored", "Function", "NodeCreated", "-1", "99999999999999999999", "t" + "9" * 5000,
    "Expected all tensors to be on the same device", INPLACE,
)  # fmt: skip
OTHERS = (None, True, False, 1.5, -0.0, 1e308, [], {}, [[]], [0], [None], ["a"], [0, 0], {"a": 1}, [[0, 0], None])


def value(random: Random) -> Any:
    """Return a random value of any type."""
    match random.randrange(9):
        case 0 | 1 | 2:
            return random.choice(NUMBERS)
        case 3:
            return random.choice(TEXTS)
        case 4:
            return random.choice(OTHERS)
        case 5:
            return random.randrange(400)
        case 6:
            return [value(random) for _ in range(random.randrange(4))]
        case 7:
            return _deep(random.choice((3, 50, 400)))
        case _:
            return [random.choice(NUMBERS[:-1])] * random.choice((1, 10, 3000))


def _deep(depth: int) -> Any:
    made: Any = 0
    for _ in range(depth):
        made = [made]
    return made


# -- bytes ------------------------------------------------------------------------------------------------------------


def flipped(raw: bytes, random: Random) -> bytes:
    """Flip some bits, near each other or not."""
    changed = bytearray(raw)
    for _ in range(random.choice((1, 1, 2, 8, 40))):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def cut(raw: bytes, random: Random) -> bytes:
    """Return the beginning, or remove a part."""
    at = random.randrange(len(raw) + 1)
    return raw[:at] if random.random() < 0.6 else raw[:at] + raw[at + random.randrange(1, 300) :]


def spliced(raw: bytes, other: bytes, random: Random) -> bytes:
    """Insert a part of another file in the middle."""
    at, begin = random.randrange(len(raw) + 1), random.randrange(len(other) + 1)
    return raw[:at] + other[begin : begin + random.choice((1, 10, 200, 5000))] + raw[at + random.choice((0, 1, 100)) :]


def noisy(raw: bytes, random: Random) -> bytes:
    """Overwrite a part with random bytes."""
    at, length = random.randrange(len(raw)), random.choice((1, 4, 30, 1000))
    noise = random.choice((random.randbytes(length), b"[" * 100 * length, b"9" * 100 * length))
    return raw[:at] + noise + raw[at + length :]


# -- lines ------------------------------------------------------------------------------------------------------------


def shuffled(lines: Lines, random: Random) -> Lines:
    """Drop, double or swap lines, then renumber them, so that their order is valid but their content is not."""
    head, *events = lines
    for _ in range(random.choice((1, 1, 3, 30))):
        if len(events) < 2:
            break
        one, other = random.randrange(len(events)), random.randrange(len(events))
        match random.randrange(4):
            case 0:
                del events[one]
            case 1:
                events.insert(one, events[other])
            case 2:
                events[one], events[other] = events[other], events[one]
            case _:
                events[one : one + random.choice((2, 10, 50))] = []
    return [head, *(_numbered(line, at, random) for at, line in enumerate(events))]


def mixed(lines: Lines, others: Lines, random: Random) -> Lines:
    """Insert events of another trace among those of this one."""
    head, *events = lines
    for _ in range(random.choice((1, 5, 50))):
        events.insert(random.randrange(len(events) + 1), random.choice(others[1:] or lines))
    return [head, *(_numbered(line, at, random) for at, line in enumerate(events))]


def _numbered(line: bytes, seq: int, random: Random) -> bytes:
    event = _parsed(line)
    if not isinstance(event, list) or len(event) < 3:
        return line
    event[1] = seq
    if isinstance(event[2], int) and event[2] >= seq:
        event[2] = random.randrange(seq) if seq else None
    return dumped(event)


def unordered(lines: Lines, random: Random) -> Lines:
    """Swap two lines without renumbering."""
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    changed = [*lines]
    changed[one], changed[other] = changed[other], changed[one]
    return changed


# -- values -----------------------------------------------------------------------------------------------------------


def revalued(lines: Lines, random: Random) -> Lines:
    """Replace values by random ones, or by the values of another event."""
    changed = [*lines]
    for _ in range(random.choice((1, 1, 1, 2, 5, 40))):
        at = random.randrange(1, len(changed)) if len(changed) > 1 else 0
        event = _parsed(changed[at])
        if isinstance(event, list) and event:
            _revalue(event, changed, random)
            changed[at] = dumped(event)
    return changed


def _revalue(event: list[Any], lines: Lines, random: Random) -> None:
    places = list(_places(event))
    inside = [place for place in places if place[0] is not event or place[1] > 2] or places
    holder, key = random.choice(inside if random.random() < 0.93 else places)
    match random.randrange(5):
        case 0 | 1:
            holder[key] = value(random)
        case 2 if isinstance(holder[key], int):
            holder[key] += random.choice((-2, -1, 1, 2, 50))
        case 3 if holder is event and (same := _same_place(event, key, lines, random)) is not None:
            holder[key] = same
        case _ if isinstance(holder[key], list):
            holder[key] = random.choice((holder[key][:-1], holder[key] * 2, holder[key][::-1], holder[key][:9] * 400))
        case _ if isinstance(holder[key], int):
            holder[key] = random.randrange(30)
        case _:
            holder[key] = value(random)


def _same_place(event: list[Any], key: int, lines: Lines, random: Random) -> Any:
    for _ in range(20):
        other = _parsed(random.choice(lines))
        if isinstance(other, list) and other and other[0] == event[0] and len(other) > key:
            return other[key]
    return None


def _places(event: Any, depth: int = 6) -> Any:
    keys = range(len(event)) if isinstance(event, list) else list(event) if isinstance(event, dict) else ()
    for key in keys:
        yield event, key
        if depth and isinstance(event[key], list | dict):
            yield from _places(event[key], depth - 1)


def renested(lines: Lines, random: Random) -> Lines:
    """Change parents, kinds and lengths of events."""
    changed = [*lines]
    for _ in range(random.choice((1, 3, 20, 200))):
        at = random.randrange(1, len(changed)) if len(changed) > 1 else 0
        event = _parsed(changed[at])
        if not isinstance(event, list) or len(event) < 3:
            continue
        match random.randrange(5):
            case 0 | 1:
                event[2] = random.choice((None, 0, at - 2, random.randrange(max(1, at - 1))))
            case 2:
                event[0] = _kind(random.choice(changed[1:] or changed)) if at else event[0]
            case 3:
                event.append(value(random))
            case _:
                del event[-1]
        changed[at] = dumped(event)
    return changed


def headed(lines: Lines, random: Random) -> Lines:
    """Change the header: versions, sources, names."""
    header = _parsed(lines[0])
    if not isinstance(header, dict):
        return lines
    key = random.choice([*header, "format", "pytorch", "program", "sources", "extra"])
    sources = header.get("sources", {})
    if key == "sources" and isinstance(sources, dict) and random.random() < 0.7:
        header[key] = {name: _source(text, random) for name, text in sources.items()}
    elif key == "format" and random.random() < 0.5:
        header[key] = random.choice((0, 1, 2, 3, 10**9, -1))
    elif key == "pytorch" and random.random() < 0.7:
        header[key] = random.choice(("2.12.0", "1.0", "2.99", "3", "", "2", "2.13", "x.y.z", "2.0.0+cu118"))
    elif random.random() < 0.1:
        header.pop(key, None)
    else:
        header[key] = value(random)
    return [dumped(header), *lines[1:]]


def _source(text: Any, random: Random) -> Any:
    if not isinstance(text, str):
        return text
    return random.choice(
        ("", text[: len(text) // 2], text * 3, "(" * 300, "\0", '"""', "x = " + "1+" * 2000, value(random))
    )


def pathological(lines: Lines, random: Random) -> Lines:
    """Return events that no program would have: nested very deeply, or very wide."""
    head, *events = lines
    count = random.choice((10, 100, 700))
    match random.randrange(5):
        case 0:
            made: list[Any] = [["GuardEntered", at, at - 1 if at else None, "Guard", 0, 0, 0, 0] for at in range(count)]
        case 1:
            made = [["SourceLine", at, None, "x.py", at, "f", max(0, at - 1)] for at in range(count)]
        case 2:
            made = _long_graph(count)
        case 3:
            made = [["ViewMade", at, None, at, at + 1, "DEFAULT"] for at in range(count)]
            made += [["GradientAccumulated", count + at, None, at, at, at + 1, "stolen", ""] for at in range(count)]
        case _:
            edges = [[at % 7, 0] for at in range(count)]
            made = [["NodeCreated", 0, None, 0, "N", 0, 0, 1], ["EdgesCollected", 1, 0, 0, edges, [], 1]]
    return [head, *map(dumped, made), *(_numbered(line, len(made) + at, random) for at, line in enumerate(events))]


def _long_graph(count: int) -> list[list[Any]]:
    made: list[list[Any]] = []
    for node in range(count):
        made.append(["NodeCreated", len(made), None, node, "ExpBackward0", node, node, 1])
        edge = [[node - 1, 0]] if node else []
        made.append(["EdgesCollected", len(made), None, node, edge, [["self", node]] if node else [], node])
        made.append(["HistorySet", len(made), None, node + 1, node, 0])
    return made


MOST_AGAIN = 1 << 22
"""The length in bytes above which a line is not damaged again, because that would take minutes."""


def _kind(line: bytes) -> Any:
    event = _parsed(line)
    return event[0] if isinstance(event, list) and event else "?"


def _parsed(line: bytes) -> Any:
    if len(line) > MOST_AGAIN:
        return None
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def dumped(part: Any) -> bytes:
    """Return the part as JSON; lone surrogates are escaped."""
    return json.dumps(part, separators=(",", ":")).encode()


# -- whole files ------------------------------------------------------------------------------------------------------


def packed(raw: bytes, random: Random) -> bytes:
    """Compress the bytes: in one piece, in several, or with an error."""
    match random.randrange(6):
        case 0:
            return gzip.compress(raw, 1, mtime=0)
        case 1:
            at = random.randrange(len(raw) + 1)
            return gzip.compress(raw[:at], 1, mtime=0) + gzip.compress(raw[at:], 1, mtime=0)
        case 2:
            return gzip.compress(raw, 1, mtime=0) + random.choice(
                (b"\0" * 100, b"junk", b"\x1f\x8b", random.randbytes(30))
            )
        case 3:
            return gzip.compress(gzip.compress(raw, 1, mtime=0), 1, mtime=0)
        case 4:
            return cut(gzip.compress(raw, 1, mtime=0), random)
        case _:
            return flipped(gzip.compress(raw, 1, mtime=0), random)


def bomb(raw: bytes, random: Random) -> bytes:
    """Return a small file that unpacks to a large one: blanks, one endless line, or one event repeated."""
    kind = random.randrange(4)
    pack = zlib.compressobj(9, wbits=31)
    piece = (b"\n" * 65536, b"0" * 65536, b"[" * 65536, b'["Boxed",0,null,"",0]\n' * 3000)[kind]
    first = raw.partition(b"\n")[0] + b"\n" if random.random() < 0.8 else b""
    return b"".join([pack.compress(first), *(pack.compress(piece) for _ in range(200)), pack.flush()])


Damage = Callable[[Lines, Lines, Random], Lines]
OF_LINES: Sequence[tuple[int, Damage]] = (
    (12, lambda lines, others, random: shuffled(lines, random)),
    (8, lambda lines, others, random: mixed(lines, others, random)),
    (2, lambda lines, others, random: unordered(lines, random)),
    (40, lambda lines, others, random: revalued(lines, random)),
    (10, lambda lines, others, random: renested(lines, random)),
    (5, lambda lines, others, random: headed(lines, random)),
    (1, lambda lines, others, random: pathological(lines, random)),
)


def _indexed(raw: bytes) -> bytes:
    """Return the same trace with an index, as far as it can be read."""
    try:
        return Trace.decoded(raw, "x").encoded(".dvtrace")
    except TraceError:
        return b""


def _damaged_blocks(raw: bytes, random: Random) -> bytes:
    """Damage an indexed file: not at all, anywhere, or with another index that has a correct checksum."""
    match random.randrange(8):
        case 0 | 1:
            return raw
        case 2 | 3:
            return flipped(raw, random)
        case 4 | 5:
            return random.choice((cut, noisy))(raw, random)
        case 6:
            return spliced(raw, raw, random)
        case _:
            return _other_index(raw, random)


def _other_index(raw: bytes, random: Random) -> bytes:
    at = raw.rfind(INDEX)
    index = bytearray(raw[at + FRAME_SIZE : -TRAILER_SIZE])
    for _ in range(random.choice((1, 3, 30))):
        index[random.randrange(len(index))] = random.choice((0, 1, 127, 128, 255, random.randrange(256)))
    return raw[:at] + block(INDEX, bytes(index)) + raw[-TRAILER_SIZE:]


def damaged(seeds: Sequence[bytes], small: int, random: Random) -> tuple[str, bytes]:
    """Return the suffix and the bytes of a file. Four in five are of the first ``small`` traces."""
    raw, other = (random.choice(seeds[:small] if random.random() < 0.8 else seeds) for _ in range(2))
    if random.random() < 0.004:
        return ".jsonl.gz", bomb(raw, random)
    if random.random() < 0.75:
        lines = raw.rstrip(b"\n").split(b"\n")
        if random.random() < 0.3:
            del lines[random.randrange(1, len(lines)) + 1 :]
        for _ in range(random.choice((1, 1, 2))):
            (damage,) = random.choices([each for _, each in OF_LINES], [weight for weight, _ in OF_LINES])
            lines = damage(lines, other.split(b"\n"), random)
        raw = b"\n".join(lines) + b"\n"
    else:
        raw = random.choice((flipped, cut, noisy, lambda one, by: spliced(one, other, by)))(raw, random)
    if random.random() < 0.3 and (indexed := _indexed(raw)):
        return ".dvtrace", _damaged_blocks(indexed, random)
    if random.random() < 0.1:
        return ".jsonl.gz", packed(raw or b"\n", random)
    return random.choice((".jsonl", ".jsonl", ".jsonl.gz", ".dvtrace")), raw
