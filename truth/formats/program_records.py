"""Records of programs as text: the source of a program, then everything that PyTorch did, one fact per line.

A file begins with the release and the table of key sets (``dispatch_log.py``). A record begins with ``## name``; the
beginning of each line is its kind:

    | SOURCE                  the program
    log                       then the dispatch log (``dispatch_log.py``): @LINE, in NODE, steps
    not watched               there is no log
    after LINE x STATE        the autograd state of a variable that changed with a statement: ``grad leaf 0 0 NODE``
                              for requires_grad, is_leaf, version, output_nr, grad_fn; or the JSON of an error
    graph ...                 a backward graph (``backward_graphs.py``)
    value x JSON, grad x JSON of the variables at the end (``values.py``); ``values random`` if they may vary
    error LINE TYPE "TEXT"    the error that ended it
    warning "TEXT"
    > OUTPUT                  the printed output; the last line without an end
    took N                    sequence numbers

``truth/recorders/programs.py`` documents the fields. Some programs have shorter records: a record without a log or a
number of sequence numbers is read without these fields; other missing fields are read as empty.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from truth.formats.backward_graphs import graph_lines, read_graph
from truth.formats.dispatch_log import SetNames, Sets, log_lines, read_log, read_table
from truth.formats.values import read_value, value_text

Record = dict[str, Any]


class RecordFile(Mapping[str, Record]):
    """The records of one file, each parsed when it is looked up."""

    def __init__(self, text: str) -> None:
        head, *records = text.removesuffix("\n").split("\n\n## ")
        release, _, *table = head.split("\n")
        self.torch = release.removeprefix("PyTorch ")
        self._table = read_table(table)
        self._texts = dict(record.split("\n", 1) for record in records)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, name: str) -> Record:
        return read_record(self._texts[name].split("\n"), self._table)


def file_text(torch: str, records: dict[str, Record]) -> str:
    """A file of records of a release of PyTorch. Raise ValueError if a record would not be read back as it is."""
    names = SetNames()
    texts = {name: "\n".join(record_lines(record, names)) for name, record in records.items()}
    head = "\n".join((f"PyTorch {torch}", "", *names.table()))
    text = "".join((head, *(f"\n\n## {name}\n{body}" for name, body in texts.items()), "\n"))
    known = RecordFile(text)
    for name, record in records.items():
        read = known[name]
        if any(json.dumps(read.get(field)) != json.dumps(record[field]) for field in record):
            raise ValueError(f"{name} cannot be written: it would be read as {read}")
    return text


# -- writing ----------------------------------------------------------------------------------------------------------


def record_lines(record: Record, names: SetNames) -> Iterator[str]:
    """The lines of one record."""
    if "source" in record:
        yield from (f"| {line}" if line else "|" for line in record["source"].split("\n"))
    if "log" in record:
        yield "not watched" if record["log"] is None else "log"
        yield from log_lines(record["log"] or [], names)
    for line, changed in record.get("facts", ()):
        yield from (f"after {line} {name} {_state_text(state)}" for name, state in changed.items())
    for graph in record.get("graphs", ()):
        yield from graph_lines(graph)
    yield from _end_lines(record)


def _state_text(state: list[Any] | dict[str, str]) -> str:
    if isinstance(state, dict):
        return json.dumps(state, ensure_ascii=False)
    requires_grad, is_leaf, version, node, output_nr = state
    flags = f"{'grad' if requires_grad else '-'} {'leaf' if is_leaf else '-'}"
    return f"{flags} {'-' if version is None else version} {output_nr}" + (f" {node}" if node else "")


def _end_lines(record: Record) -> Iterator[str]:
    for field in ("values", "grads"):
        if field in record and record[field] is None:
            yield f"{field} random"
        yield from (f"{field[:-1]} {name} {value_text(value)}" for name, value in (record.get(field) or {}).items())
    if record.get("error"):
        kind, text, line = record["error"]
        yield f"error {line} {kind} {json.dumps(text, ensure_ascii=False)}"
    yield from (f"warning {json.dumps(text, ensure_ascii=False)}" for text in record.get("warnings", ()))
    if record.get("output"):
        yield from (f"> {line}" if line else ">" for line in record["output"].split("\n"))
    if "sequence_numbers" in record:
        yield f"took {record['sequence_numbers']}"


# -- reading ----------------------------------------------------------------------------------------------------------

Block = list[str]
"""A line and the following lines that begin with a blank."""


def read_record(lines: Iterable[str], table: dict[str, Sets]) -> Record:
    """The record of the given lines. Raise ValueError if a line has another form."""
    blocks: dict[str, list[Block]] = {}
    block: Block = []
    for line in lines:
        if line[0] == " ":
            block.append(line)
        else:
            block = [line]
            blocks.setdefault(_kind(line), []).append(block)
    if unknown := blocks.keys() - _KINDS:
        raise ValueError(f"a record has no lines that begin with {', '.join(unknown)}")
    return _record(lambda kind: blocks.get(kind, []), table)


_FIRST = {"@": "log", "|": "source", ">": "output"}
_KINDS = {
    *("source", "log", "not", "after", "graph", "value", "grad", "values", "grads", "error", "warning", "output"),
    "took",
}


def _kind(line: str) -> str:
    """The kind of a line."""
    word = line.partition(" ")[0]
    return "log" if word == "in" else _FIRST.get(line[0], word)


def _record(blocks: Callable[[str], list[Block]], table: dict[str, Sets]) -> Record:
    record: Record = {
        "source": _text(blocks("source")),
        "facts": _read_facts(blocks("after")),
        "graphs": [read_graph(head, nodes) for head, *nodes in blocks("graph")],
        "values": None if blocks("values") else _read_values(blocks("value")),
        "grads": None if blocks("grads") else _read_values(blocks("grad")),
        "error": next((_read_error(line) for (line,) in blocks("error")), None),
        "warnings": [json.loads(line.partition(" ")[2]) for (line,) in blocks("warning")],
        "output": _text(blocks("output")),
    }
    if blocks("not"):
        record["log"] = None
    elif blocks("log"):
        record["log"] = read_log(chain.from_iterable(blocks("log")[1:]), table)
    for (line,) in blocks("took"):
        record["sequence_numbers"] = int(line.partition(" ")[2])
    return record


def _text(blocks: list[Block]) -> str:
    return "\n".join(line[2:] for (line,) in blocks)


def _read_facts(blocks: list[Block]) -> list[list[Any]]:
    facts: dict[int, dict[str, Any]] = {}
    for (text,) in blocks:
        _, line, name, state = text.split(" ", 3)
        facts.setdefault(int(line), {})[name] = _read_state(state)
    return [[line, changed] for line, changed in facts.items()]


def _read_state(text: str) -> list[Any] | dict[str, str]:
    if text[0] == "{":
        error: dict[str, str] = json.loads(text)
        return error
    requires_grad, is_leaf, version, output_nr, *node = text.split(" ")
    number = None if version == "-" else int(version)
    return [requires_grad == "grad", is_leaf == "leaf", number, node[0] if node else None, int(output_nr)]


def _read_values(blocks: list[Block]) -> dict[str, Any]:
    found = (line.split(" ", 2) for (line,) in blocks)
    return {name: read_value(value) for _, name, value in found}


def _read_error(line: str) -> list[Any]:
    _, at, kind, text = line.split(" ", 3)
    return [kind, json.loads(text), int(at)]
