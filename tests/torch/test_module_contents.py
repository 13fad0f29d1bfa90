"""Parts of torch that programs import: lazy modules, missing names, unsupported tools."""

from __future__ import annotations

import importlib
import importlib.util
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest

import dispatchviz.torch as model
import dispatchviz.torch as torch
from dispatchviz.core.bindings import python_bindings_manual
from dispatchviz.core.bindings.binding import bind
from dispatchviz.core.generated import python_bindings
from dispatchviz.core.record.events import Printed
from dispatchviz.running.import_hook import torch_is_the_model
from dispatchviz.running.program import run
from dispatchviz.torch import distributed, fx, hub, jit
from dispatchviz.torch.lacking_methods import LACKING
from dispatchviz.torch.lacking_names import LACKING_NAMES
from tests.amounts import some

PROGRAMS = {
    "the module of a function leaves the function where it is": (
        """
        from torch.autograd.gradcheck import GradcheckError, gradcheck
        import torch
        import torch.autograd.gradcheck
        print(torch.autograd.gradcheck is gradcheck, issubclass(GradcheckError, RuntimeError))
        """,
        "True True\n",
    ),
    "handles of hooks are pickled and copied with what they belong to": (
        """
        import copy, pickle, torch
        m = torch.nn.Linear(1, 1)
        handle = m.register_forward_hook(print)
        again = pickle.loads(pickle.dumps(handle))
        m2, other = copy.deepcopy((m, handle))
        other.remove()
        print(again.id == handle.id, len(m._forward_hooks), len(m2._forward_hooks))
        """,
        "True 1 0\n",
    ),
    "a warning of a legacy constructor is on the user's line": (
        """
        import numpy, torch, warnings
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.FloatTensor([numpy.ones(2), numpy.ones(2)])
        print(caught[0].filename == __file__, caught[0].lineno)
        """,
        "True 4\n",
    ),
    "the package functorch is the model's": (
        """
        import functorch, torch, warnings
        from functorch import make_functional
        from torch.utils.weak import WeakIdKeyDictionary
        from torch.utils._mode_utils import no_dispatch
        from torch.utils import swap_tensors
        from torch.utils.benchmark import Timer
        from torch.testing import make_tensor
        warnings.simplefilter("ignore")
        print(functorch.__version__ == torch.__version__, functorch.vmap(torch.neg)(torch.ones(2)).tolist())
        """,
        "True [-1.0, -1.0]\n",
    ),
}
"""Name -> program and the output of PyTorch 2.14.1."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_print_the_same_as_in_pytorch(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, expected = PROGRAMS[name]
    monkeypatch.chdir(tmp_path)
    Path("p.py").write_text(dedent(program).lstrip())
    outcome = run("p.py", (), io.StringIO())
    assert "".join(event.text for event in outcome.trace if isinstance(event, Printed)) == expected


nn = torch.nn
UNUSED = "Can't access the shape of an uninitialized parameter or buffer."


def test_a_lazy_module_becomes_an_ordinary_one() -> None:
    """The first call initializes the module, with the shapes of that input."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2)).double()
    assert repr(model[0]) == "LazyConv2d(0, 4, kernel_size=(3, 3), stride=(1, 1))"
    assert repr(model[3].weight) == "<UninitializedParameter>"
    assert repr(model[1].running_mean) == "<UninitializedBuffer>"
    model(torch.ones(2, 3, 5, 5, dtype=torch.float64))
    assert [type(module) for module in model] == [nn.Conv2d, nn.BatchNorm2d, nn.Flatten, nn.Linear]
    assert repr(model[3]) == "Linear(in_features=36, out_features=2, bias=True)"
    assert type(model[0].weight) is nn.Parameter
    assert model[0].weight.dtype is torch.float64
    assert model[0].weight.flatten()[:4].tolist() == pytest.approx([0.1809, 0.0800, -0.0156, 0.1619], abs=1e-4)
    loaded = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
    assert str(loaded.load_state_dict(model.state_dict())) == "<All keys matched successfully>"
    assert type(loaded[0].weight) is nn.Parameter
    assert type(loaded[0]) is nn.LazyConv2d


def test_using_an_uninitialized_parameter_raises() -> None:
    """Errors come from its shape, functions of it, inputs of other dimensions, and loading it into an ordinary
    module.
    """
    layer = nn.LazyLinear(3)
    with pytest.raises(RuntimeError, match=UNUSED):
        layer.weight.shape  # noqa: B018
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
        layer.weight + 1
    with pytest.raises(RuntimeError, match=UNUSED):
        nn.Linear(2, 3).load_state_dict(layer.state_dict())
    with pytest.raises(RuntimeError, match=r"Expected 2D \(unbatched\) or 3D \(batched\) input to LazyConv1d"):
        nn.LazyConv1d(3, 2)(torch.ones(1, 2, 3, 4, 5))
    with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
        nn.LazyConv2d(3, 2, groups=3)(torch.ones(1, 2, 3, 4))


LACKS = "is not in dispatchviz's model of PyTorch 2.14.1"
INSTALLED = "; an installed PyTorch may have it: --engine torch records the program there"

MISSING = (
    *(
        "torch.fx.Tracer",
        "torch.unknown_name",
        "torch.nn.unknown_name",
        "torch.nn.functional.unknown_name",
        "torch.optim.Nope",
    ),
    *("torch.fft.unknown_name", "torch.linalg.unknown_name", "torch.special.unknown_name", "torch.func.linearize"),
    *(
        "torch.masked.unknown_name",
        "torch.distributions.unknown_name",
        "torch.utils.data.unknown_name",
        "torch._C._nn.Nope",
    ),
    *("torch._C._functions.Nope", "torch.jit.__unknown_name__", "functorch.unknown_name", "torch.version.unknown_name"),
)


def asked(statement: str) -> Any:
    """Return the error of a statement, or None."""
    try:
        exec(statement, {})
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("name", MISSING)
def test_importing_a_missing_name_says_that_the_model_lacks_it(name: str) -> None:
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
        writer.add_text("text", "yes", step, walltime=step)
writer.close()
"""


def _written(folder: Path, torch: ModuleType) -> dict[str, list[bytes]]:
    """Return the events in each folder except the first one, which contains the time."""
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


def test_tensorboard_without_its_package_raises_as_in_pytorch() -> None:
    if importlib.util.find_spec("tensorboard"):
        pytest.skip("it is installed here")
    with torch_is_the_model():
        error = asked("from torch.utils.tensorboard import SummaryWriter")
    assert (type(error), error.name, str(error)) == (
        ModuleNotFoundError, "tensorboard", "No module named 'tensorboard'"
    )  # fmt: skip


@pytest.mark.torch
def test_pytorch_raises_the_same_without_tensorboard() -> None:
    pytest.importorskip("torch")
    if importlib.util.find_spec("tensorboard"):
        pytest.skip("it is installed here")
    error = asked("from torch.utils.tensorboard import SummaryWriter")
    assert (type(error), error.name, str(error)) == (
        ModuleNotFoundError, "tensorboard", "No module named 'tensorboard'"
    )  # fmt: skip


@pytest.mark.parametrize("name", [name for name in MISSING if "__" not in name])
def test_a_missing_attribute_raises_the_same_error(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    with torch_is_the_model():
        error = asked(f"import {module}; {name}")
        assert not hasattr(importlib.import_module(module), attribute)
    assert type(error) is AttributeError
    assert str(error).startswith(f"{name} {LACKS}")
    assert str(error).endswith(INSTALLED)


def test_similar_names_are_only_for_names_that_pytorch_lacks_too() -> None:
    error = str(asked("import dispatchviz.torch as torch; torch.oness"))
    text, _, close = error.partition("; close name")
    assert text == "torch.oness is neither in dispatchviz's model nor in PyTorch 2.14.1"
    assert "ones" in close.partition(": ")[2].split(", ")
    assert "close name" not in str(asked("import dispatchviz.torch as torch; torch.sparse_coo_tensor"))


@pytest.mark.torch
def test_the_list_of_lacking_names_is_complete() -> None:
    torch = pytest.importorskip("torch")
    own = {name for name in dir(torch) if not name.startswith("_") and not _is_of_another_package(vars(torch)[name])}
    later = {"onnx"}  # PyTorch loads it when it is first needed
    assert {name for name in own if not hasattr(model, name)} - later == LACKING_NAMES - later


def _is_of_another_package(value: object) -> bool:
    return issubclass(type(value), ModuleType) and not value.__name__.startswith("torch.")


UNSUPPORTED = {
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
        from asks import unknown_name
        assert unknown_name is False
    """,
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_code_that_probes_unsupported_modules_runs(name: str) -> None:
    with torch_is_the_model():
        exec(dedent(UNSUPPORTED[name]), {})
    sys.modules.pop("asks", None)


def public(torch: ModuleType) -> Iterator[tuple[str, str]]:
    """Yield the public names of all modules that `import torch` loads."""
    for name, module in sorted(sys.modules.items()):
        parts = name.split(".")
        if parts[0] == torch.__name__ and not any(part.startswith("_") for part in parts):
            yield from ((name, attribute) for attribute in sorted(vars(module)) if attribute.isidentifier())


@pytest.mark.torch
def test_every_name_of_pytorch_exists_or_raises_a_clear_error() -> None:
    found = public(pytest.importorskip("torch"))
    names = [each for each in found if not _is_of_another_package(vars(sys.modules[each[0]])[each[1]])]
    assert len(names) > 5000
    with torch_is_the_model():
        unclear = [
            (module, attribute, error)
            for module, attribute in some(names, 4)
            for error in [asked(f"from {module} import {attribute}")]
            if error is not None and not (isinstance(error, ImportError) and LACKS in str(error))
        ]
    assert unclear == []


def test_a_missing_tensor_method_raises_the_same_error() -> None:
    x = model.ones(2)
    for given in (x, model.Tensor):
        with pytest.raises(AttributeError, match=r"torch\.Tensor\.to_sparse is not in dispatchviz's model of PyTorch"):
            given.to_sparse  # noqa: B018
    assert not hasattr(x, "to_sparse")
    assert "to_sparse" not in dir(x)
    with pytest.raises(AttributeError, match=r"^'Tensor' object has no attribute 'no_such_name'$"):
        x.no_such_name  # noqa: B018
    assert "__getattr__" not in dir(model.Tensor)  # as in PyTorch


def test_no_existing_method_is_listed_as_missing() -> None:
    class Bound:
        """A class with the methods that are bindings."""

    for module in (python_bindings, python_bindings_manual):
        bind(vars(module), Bound)
    assert [name for name in LACKING if hasattr(Bound, name)] == []
    assert hasattr(Bound, "set_")


def double(x: object) -> object:
    return x


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("compiles", [jit.script, jit.trace])
def test_a_compiled_function_is_returned_with_a_warning(compiles: object) -> None:
    with pytest.warns(UserWarning, match="runs as Python") as caught:
        assert compiles(double) is double  # type: ignore[operator]
    assert caught[-1].filename == __file__


def test_marks_for_tracers_change_nothing() -> None:
    assert fx.wrap(double) is double
    assert fx.wrap("double") == "double"
    assert jit.ignore(drop=True)(double) is double
    with pytest.raises(RuntimeError, match="Must be either a callable or string name"):
        fx.wrap(3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: distributed.init_process_group("gloo"),
        lambda: hub.load("owner/name", "model"),
        lambda: hub.load_state_dict_from_url("file"),
        lambda: fx.symbolic_trace(torch.nn.Linear(1, 1)),
    ],
)
def test_unsupported_calls_raise(call: object) -> None:
    with pytest.raises(NotImplementedError, match="dispatchviz's model of PyTorch"):
        call()  # type: ignore[operator]


def test_hub_folder_follows_torch_home_and_set_dir(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", "models")
    assert hub.get_dir().replace("\\", "/") == "models/hub"
    hub.set_dir("elsewhere")
    try:
        assert hub.get_dir() == "elsewhere"
    finally:
        hub._hub_dir = None
