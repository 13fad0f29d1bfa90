"""The file of PyTorch's registrations as recorders read and write it."""

from __future__ import annotations

from dispatchviz.core.table.pytorch_registrations import PyTorch
from truth.formats.registrations_file import PATH, Row, read, text


def test_what_is_read_is_written_again() -> None:
    assert text(read()) == PATH.read_text(encoding="utf-8")


def test_the_package_reads_the_same() -> None:
    """Two readers of one format: the package's makes kernels, one operator at a time."""
    cpu, cuda = PyTorch("cpu"), PyTorch("cuda")
    for operator in read().operators:
        assert operator.schema == str(cpu.schema(operator.name))
        assert operator.location == cpu.debug(operator.name)
        assert rows(cpu, operator.name) == sorted(operator.rows)
        assert rows(cuda, operator.name) == sorted([*operator.rows, *operator.cuda])


def rows(stock: PyTorch, name: str) -> list[Row]:
    """As the file has them, in another order."""
    kernels = ((key.name, kernel) for key, found in stock.registrations(name).items() for kernel in found)
    return sorted(
        Row(key, k.debug, 1 + 2 * k.unboxed + 4 * k.fallthrough + 8 * bool(k.signature)) for key, k in kernels
    )


def test_the_file_is_small() -> None:
    assert PATH.stat().st_size < 1_000_000
