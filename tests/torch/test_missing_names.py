"""Names that the model lacks: the error says so, whichever way a program asks for the name."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest

import dispatchviz.torch as model
from dispatchviz.core.bindings import python_bindings_manual
from dispatchviz.core.bindings.binding import bind
from dispatchviz.core.generated import python_bindings
from dispatchviz.running.import_hook import torch_is_the_model
from dispatchviz.torch.lacking_methods import LACKING
from tests.amounts import some

LACKS = "is not in dispatchviz's model of PyTorch 2.13.0"
INSTALLED = "; an installed PyTorch may have it: --engine torch records the program there"

MISSING = (
    *("torch.fx.Tracer", "torch.of_nobody", "torch.nn.of_nobody", "torch.nn.functional.of_nobody", "torch.optim.Nope"),
    *("torch.fft.of_nobody", "torch.linalg.of_nobody", "torch.special.of_nobody", "torch.func.linearize"),
    *("torch.masked.of_nobody", "torch.distributions.of_nobody", "torch.utils.data.of_nobody", "torch._C._nn.Nope"),
    *("torch._C._functions.Nope", "torch.jit.__of_nobody__", "functorch.of_nobody", "torch.version.of_nobody"),
)


def asked(statement: str) -> Any:
    """The error of a statement, or None."""
    try:
        exec(statement, {})
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("name", MISSING)
def test_an_import_of_a_missing_name_says_that_the_model_lacks_it(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    with torch_is_the_model():
        error = asked(f"from {module} import {attribute}")
    assert type(error) is ImportError
    assert error.name == module
    assert str(error).startswith(f"cannot import name '{attribute}' from '{module}': {name} {LACKS}")
    assert str(error).endswith(INSTALLED)


WRITES = """
from torch.utils.tensorboard import SummaryWriter
with SummaryWriter(folder) as writer:
    for step in range(2):
        writer.add_scalar("loss", torch.tensor(0.5 + step), step, walltime=step)
        writer.add_scalars("both", {"a": 1, "b": torch.ones(1, dtype=torch.bfloat16)}, step, walltime=step)
        writer.add_histogram("x", torch.arange(9.0), step, walltime=step, max_bins=300)
        writer.add_text("said", "yes", step, walltime=step)
writer.close()
"""


def _written(folder: Path, torch: ModuleType) -> dict[str, list[bytes]]:
    """The events in each folder, after the first, which has the time."""
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader").RawEventFileLoader
    exec(WRITES, {"torch": torch, "folder": str(folder)})
    return {
        str(file.parent.relative_to(folder)): list(loader(str(file)).Load())[1:] for file in folder.rglob("events.*")
    }


def test_a_program_writes_for_tensorboard(tmp_path: Path) -> None:
    with torch_is_the_model():
        found = _written(tmp_path, model)
    assert {folder: len(events) for folder, events in found.items()} == {".": 6, "both_a": 2, "both_b": 2}


@pytest.mark.torch
def test_pytorch_writes_the_same_for_tensorboard(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    with torch_is_the_model():
        found = _written(tmp_path / "model", model)
    assert found == _written(tmp_path / "real", torch)


def test_without_its_package_tensorboard_is_missing_as_in_pytorch() -> None:
    if importlib.util.find_spec("tensorboard"):
        pytest.skip("it is installed here")
    with torch_is_the_model():
        error = asked("from torch.utils.tensorboard import SummaryWriter")
    assert (type(error), error.name, str(error)) == (
        ModuleNotFoundError, "tensorboard", "No module named 'tensorboard'"
    )  # fmt: skip


@pytest.mark.torch
def test_pytorch_says_the_same_of_tensorboard() -> None:
    pytest.importorskip("torch")
    if importlib.util.find_spec("tensorboard"):
        pytest.skip("it is installed here")
    error = asked("from torch.utils.tensorboard import SummaryWriter")
    assert (type(error), error.name, str(error)) == (
        ModuleNotFoundError, "tensorboard", "No module named 'tensorboard'"
    )  # fmt: skip


@pytest.mark.parametrize("name", [name for name in MISSING if "__" not in name])
def test_an_attribute_that_is_missing_says_the_same(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    with torch_is_the_model():
        error = asked(f"import {module}; {name}")
        assert not hasattr(importlib.import_module(module), attribute)
    assert type(error) is AttributeError
    assert str(error).startswith(f"{name} {LACKS}")
    assert str(error).endswith(INSTALLED)


PROGRAMS = {
    "a program that catches ImportError goes on": """
        try:
            from torch.fx import Tracer
        except ImportError:
            Tracer = None
    """,
    "modules, lazy names and names of a package are imported as ever": """
        from torch.nn import utils, Linear
        from torch.optim import Muon, lr_scheduler
        from torch import vmap, fx, nn as layers
        from torch.autograd import gradcheck
        from torch.fft import rfft
    """,
    "hasattr within an import of another name asks for an attribute": """
        import torch
        class Asks(type(torch)):
            def __getattr__(self, name):
                return hasattr(torch, name)
        import sys
        sys.modules["asks"] = Asks("asks")
        from asks import of_nobody
        assert of_nobody is False
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_other_imports_are_what_they_were(name: str) -> None:
    with torch_is_the_model():
        exec(dedent(PROGRAMS[name]), {})
    sys.modules.pop("asks", None)


def public(torch: ModuleType) -> Iterator[tuple[str, str]]:
    """The public names of all modules that `import torch` loads."""
    for name, module in sorted(sys.modules.items()):
        parts = name.split(".")
        if parts[0] == torch.__name__ and not any(part.startswith("_") for part in parts):
            yield from ((name, attribute) for attribute in sorted(vars(module)) if attribute.isidentifier())


@pytest.mark.torch
def test_every_name_of_pytorch_is_there_or_said_to_be_missing() -> None:
    names = list(public(pytest.importorskip("torch")))
    assert len(names) > 5000
    with torch_is_the_model():
        unclear = [
            (module, attribute, error)
            for module, attribute in some(names, 4)
            for error in [asked(f"from {module} import {attribute}")]
            if error is not None and not (isinstance(error, ImportError) and LACKS in str(error))
        ]
    assert unclear == []


def test_a_method_of_tensors_that_is_missing_says_the_same() -> None:
    x = model.ones(2)
    for given in (x, model.Tensor):
        with pytest.raises(AttributeError, match=r"torch\.Tensor\.to_sparse is not in dispatchviz's model of PyTorch"):
            given.to_sparse  # noqa: B018
    assert not hasattr(x, "to_sparse")
    assert "to_sparse" not in dir(x)
    with pytest.raises(AttributeError, match=r"^'Tensor' object has no attribute 'no_such_name'$"):
        x.no_such_name  # noqa: B018
    assert "__getattr__" not in dir(model.Tensor)  # as in PyTorch


def test_no_method_that_the_model_has_is_called_lacking() -> None:
    class Bound:
        """Has the methods that are bindings."""

    for module in (python_bindings, python_bindings_manual):
        bind(vars(module), Bound)
    assert [name for name in LACKING if hasattr(Bound, name)] == []
    assert hasattr(Bound, "set_")
