"""``--engine auto``: which engine runs a program, and the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.explain.diagnosis.messages.table import MESSAGES
from dispatchviz.running.engine_choice import program_names
from dispatchviz.running.engine_choice.choice import CUT, ON_MODEL, Choice, NeedsTorchError, automatic_choice
from dispatchviz.running.engine_choice.installed_release import InstalledRelease
from dispatchviz.running.program_source import Module, read_source
from tests.amounts import some
from truth.programs import PROGRAMS

from .installed import CPU, chosen, installed

EXAMPLES = Path(__file__).parents[3] / "examples"

RECORDED = "; recorded on the installed PyTorch 2.14.1. --engine model insists"

LACKING = {
    "a function": ("import torch\ntorch.sparse_coo_tensor", "torch.sparse_coo_tensor"),
    "a function by another name": ("import torch as t\nt.sparse_coo_tensor", "torch.sparse_coo_tensor"),
    "an imported name": ("from torch import sparse_coo_tensor as f", "torch.sparse_coo_tensor"),
    "a name of a module": ("import torch.nn as nn\nnn.quantized", "torch.nn.quantized"),
    "an attribute of a class": ("import torch\ntorch.Tensor.to_sparse", "torch.Tensor.to_sparse"),
    "a name of an imported module": ("import torch.nn.functional as F\nF.scaled_mm", "torch.nn.functional.scaled_mm"),
    "a name of a module in a variable": ("import torch\ns = torch.sparse\ns.mm", "torch.sparse"),
    "a module": ("import torch.ao", "torch.ao"),
    "a name from a module": ("from torch.ao import quantization", "torch.ao.quantization"),
    "a function that only raises": ("import torch.fx\ntorch.fx.symbolic_trace(f)", "torch.fx.symbolic_trace"),
    "a name in a function": ("import torch\ndef f():\n    torch.nested", "torch.nested"),
    "a name in a default": ("import torch\ndef f(d=torch.uint16): pass", "torch.uint16"),
    "a name in a branch": ("import torch\nif x:\n    torch.xpu", "torch.xpu"),
    "a name in an annotation": ("import torch\ndef f(x: torch.Future): pass", "torch.Future"),
    "a base class": ("import torch\nclass A(torch.fx.Tracer): pass", "torch.fx.Tracer"),
    "a name that getattr looks up": ("import torch\ngetattr(torch, 'sparse')", "torch.sparse"),
    "a layout": ("import torch\ntorch.zeros(2, layout=torch.sparse_coo)", "layout=torch.sparse_coo"),
    "an operator without a kernel": ("import torch\ntorch.ops.aten._sparse_mm(x, y)", "torch.ops.aten._sparse_mm"),
    "a name that a broad handler may hide": (
        "import torch\ntry:\n    torch.sparse\nexcept Exception: pass",
        "torch.sparse",
    ),
    "a name below an import that is expected to fail": (
        "try:\n    import torch\nexcept ImportError: pass\ntorch.sparse",
        "torch.sparse",
    ),
}
"""Programs that use a name that the model lacks -> that name."""

AVAILABLE = {
    "ordinary names": "import torch\nfrom torch import nn\nnn.Linear(2, 2)(torch.ones(2))",
    "names that are loaded later": "import torch\ntorch.vmap, torch.optim.LBFGS, torch.distributions.Normal",
    "modules that are imported by their names": "import torch.utils.tensorboard\nfrom torch.utils import checkpoint",
    "attributes of values": "import torch\ntorch.float32.is_signed, torch.pi.foo",
    "a name that hasattr checks": "import torch\nif hasattr(torch, 'sparse'):\n    torch.sparse.mm",
    "a name that getattr may not find": "import torch\nx = getattr(torch, 'sparse', None)",
    "a name whose absence is handled": "import torch\ntry:\n    torch.sparse.mm\nexcept AttributeError: pass",
    "an import whose failure is handled": (
        "import torch\ntry:\n    from torch import sparse\nexcept ImportError: sparse = None\nsparse.mm"
    ),
    "an import whose failure is suppressed": (
        "from contextlib import suppress\nwith suppress(ImportError):\n    import torch.ao"
    ),
    "a name that the program sets": "import torch\ntorch.new_name = 1\ntorch.new_name",
    "a name for type checkers": (
        "from typing import TYPE_CHECKING\nimport torch\nif TYPE_CHECKING:\n    from torch.fx import Tracer"
    ),
    "an annotation that is not evaluated": (
        "from __future__ import annotations\nimport torch\ndef f(x: torch.Future) -> torch.Future:\n    y: torch.Future"
    ),
    "a method that the program defines": "class A:\n    def to_sparse(self): pass\nA().to_sparse()",
    "an attribute that the program sets": "class A:\n    def f(self): self.qscheme = 1\nA().qscheme",
    "a method that images have": "import torch\nimage.resize((2, 2))",
    "a method of another writer": "import torch\nwriter.add_graph(model)",
    "an operator of the program": "import torch\ntorch.ops.shop.price(torch.ones(2))",
    "an operator with a kernel": "import torch\ntorch.ops.aten.add.Tensor(x, x)",
    "the strided layout": "import torch\ntorch.zeros(2, layout=torch.strided)",
    "no torch": "print(1)",
    "no Python": "def",
}
"""Programs whose names the model has."""


@pytest.mark.parametrize("name", LACKING)
def test_a_lacking_name_chooses_the_installed_pytorch(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, CPU)
    program, lacking = LACKING[name]
    found = chosen(tmp_path, program)
    assert found.engine == "torch"
    assert found.reason.startswith(f"{lacking} is not in the model")
    assert found.reason.endswith(RECORDED)


@pytest.mark.parametrize("name", AVAILABLE)
def test_the_model_runs_a_program_whose_names_it_has(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, CPU)
    assert chosen(tmp_path, AVAILABLE[name]) == ON_MODEL


REASONS = {
    "one name": ("import torch\ntorch.sparse.mm", "torch.sparse.mm is not in the model"),
    "two names": ("import torch\ntorch.sparse\ntorch.nested", "torch.sparse is not in the model (nor is 1 other name)"),
    "three names": (
        "import torch\ntorch.sparse\ntorch.nested\ntorch.ao",
        "torch.sparse is not in the model (nor are 2 other names)",
    ),
    "the name that surely runs comes first": (
        "import torch\ndef f():\n    torch.ao\ntorch.sparse",
        "torch.sparse is not in the model (nor is 1 other name)",
    ),
    "a method": ("import torch\nx.to_sparse()", "the attribute to_sparse of tensors is not in the model"),
    "an attribute that is set": (
        "import torch\nx.grad_dtype = torch.bfloat16",
        "the attribute grad_dtype of tensors is not in the model",
    ),
    "a method of a writer": (
        "from torch.utils.tensorboard import SummaryWriter\nw.add_scalar(1)\nw.add_graph(model)",
        "SummaryWriter.add_graph is not in the model",
    ),
    "a compiler": ("import torch\ntorch.compile(f)", "torch.compile only returns its argument in the model"),
    "a tracer": (
        "import torch\n@torch.jit.script\ndef f(): 0",
        "torch.jit.script only returns its argument in the model",
    ),
}


@pytest.mark.parametrize("name", REASONS)
def test_the_reason_names_what_the_model_lacks(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, CPU)
    program, fact = REASONS[name]
    assert chosen(tmp_path, program) == Choice("torch", fact + RECORDED)


def test_a_program_that_imports_the_model_stays_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, CPU)
    for text in ("import dispatchviz.torch as torch", "from dispatchviz import torch"):
        assert chosen(tmp_path, f"{text}\ntorch.sparse\nx.to_sparse()") == ON_MODEL


@pytest.mark.parametrize(("number", "engine"), [("2.14.1", "model"), ("2.13.0", "torch"), ("2.6.0", "torch")])
def test_a_name_that_the_same_release_lacks_does_not_decide(
    number: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model then names similar names."""
    installed(monkeypatch, InstalledRelease(number, True, False))
    assert chosen(tmp_path, "import torch\ntorch.oness(2)").engine == engine
    assert chosen(tmp_path, "import torch\nx.to_sparse(), torch.nested").engine == "torch"


def test_files_that_arguments_name_are_read_for_a_module_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, CPU)
    test, folder = tmp_path / "net" / "test_net.py", tmp_path / "net"
    folder.mkdir()
    test.write_text("import torch\ntorch.sparse\n")
    for arguments in ([str(test)], [f"{test}::test_add", "-q"], ["-x", str(folder)]):
        assert automatic_choice(read_source(Module("unittest")), arguments=arguments).engine == "torch"
    (tmp_path / "main.py").write_text("import torch\n")
    assert automatic_choice(read_source(str(tmp_path / "main.py")), arguments=[str(test)]) == ON_MODEL


def test_program_with_more_files_than_are_read_runs_on_pytorch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_names, "MOST_FILES", 3)
    chain = {f"m{number}": f"import m{number + 1}" for number in range(5)} | {"m5": "import torch\ntorch.sparse"}
    installed(monkeypatch, CPU)
    assert chosen(tmp_path, "import m0", chain) == Choice("torch", f"{CUT}{RECORDED}")
    assert chosen(tmp_path, "import m0", chain, only_model="--cuda none") == ON_MODEL
    installed(monkeypatch, None)
    assert chosen(tmp_path, "import m0", chain) == ON_MODEL


# -- without an installed PyTorch -------------------------------------------------------------------------------------

SURE = {
    "a statement": "import torch\nprint(1)\ntorch.sparse",
    "an import": "import torch\n\nfrom torch.ao import quantization",
    "the main block": "import torch\nif __name__ == '__main__':\n    torch.sparse",
    "a class body": "import torch\nclass A:\n    x = torch.sparse",
    "a with statement": "import torch\nwith torch.no_grad():\n    torch.sparse",
    "the test of a branch": "import torch\n\nif torch.sparse: pass",
    "a try with only finally": "import torch\ntry:\n    torch.sparse\nfinally: pass",
}

UNSURE = {
    "a function": "import torch\ndef f():\n    torch.sparse",
    "a lambda": "import torch\nf = lambda: torch.sparse",
    "a branch": "import torch\nif x:\n    torch.sparse",
    "a loop": "import torch\nfor x in y:\n    torch.sparse",
    "an alternative": "import torch\ny = torch.sparse if x else 0",
    "the second part of and": "import torch\nx and torch.sparse",
    "a try statement": "import torch\ntry:\n    torch.sparse\nexcept Exception: pass",
    "a method of any object": "import torch\nx.to_sparse()",
    "a function that returns its argument": "import torch\ntorch.compile(f)",
    "a name that PyTorch lacks too": "import torch\ntorch.oness(2)",
}


@pytest.mark.parametrize("name", SURE)
def test_a_program_that_surely_needs_pytorch_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, None)
    with pytest.raises(NeedsTorchError) as caught:
        chosen(tmp_path, SURE[name])
    expected = (
        r"main\.py, line [23]: torch\.\S+ is not in the model, and no PyTorch is installed here\. .*pip install torch"
    )
    assert caught.match(expected)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", UNSURE)
def test_a_program_that_may_not_reach_the_name_runs_on_the_model(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, None)
    assert chosen(tmp_path, UNSURE[name]) == ON_MODEL


def test_a_release_that_cannot_be_recorded_is_no_help(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, InstalledRelease("2.5.1", False, False))
    with pytest.raises(NeedsTorchError, match=r"PyTorch 2\.5\.1 cannot be recorded .*pip install --upgrade torch"):
        chosen(tmp_path, "import torch\ntorch.sparse")
    assert chosen(tmp_path, "import torch\nx.to_sparse()") == ON_MODEL


def test_an_option_of_the_model_excludes_the_installed_pytorch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, CPU)
    with pytest.raises(NeedsTorchError, match=r"--cuda none works only on the model\. Leave --cuda none out"):
        chosen(tmp_path, "import torch\ntorch.sparse", only_model="--cuda none")
    assert chosen(tmp_path, "import torch\ntorch.compile(f)", only_model="--cuda none") == ON_MODEL


# -- cuda without a GPU -----------------------------------------------------------------------------------------------

ASKS = "import torch\nd = 'cuda' if torch.cuda.is_available() else 'cpu'\nx = torch.ones(2).to('cuda')\n"
USES = "import torch\nx = torch.ones(2, device='cuda')\n"
LACKS = "torch.sparse.mm(x, x)\n"
GPU = InstalledRelease("2.14.1", True, True)


@pytest.mark.parametrize("use", ["x.cuda()", "x.to('cuda:1')", "torch.device('cuda')", "torch.ones(2, device='cuda')"])
def test_cuda_alone_stays_on_the_model(use: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, CPU)
    assert chosen(tmp_path, f"import torch\n{use}") == ON_MODEL


def test_a_program_that_asks_for_a_gpu_runs_on_the_installed_pytorch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, CPU)
    found = chosen(tmp_path, ASKS + LACKS)
    fact = "torch.sparse.mm is not in the model; recorded on the installed PyTorch 2.14.1, which has no GPU."
    assert found == Choice("torch", f"{fact} --engine model insists")


def test_a_program_that_needs_a_gpu_runs_on_the_model_up_to_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, CPU)
    assert chosen(tmp_path, USES + LACKS) == Choice(
        "model",
        "line 3: torch.sparse.mm is not in the model. The installed PyTorch 2.14.1 has no GPU for cuda (line 2), so "
        "the model runs the program up to that name. --engine torch insists",
    )


def test_with_a_gpu_cuda_makes_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, GPU)
    assert chosen(tmp_path, USES + LACKS) == Choice("torch", f"torch.sparse.mm is not in the model{RECORDED}")


@pytest.mark.parametrize("text", ["p.add_argument('--device', choices=['cpu', 'cuda'])", "torch.autocast('cuda')"])
def test_the_word_cuda_needs_no_gpu(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, CPU)
    found = chosen(tmp_path, f"import torch\n{text}\n{LACKS}")
    assert found == Choice("torch", f"torch.sparse.mm is not in the model{RECORDED}")


# -- the files of a program -------------------------------------------------------------------------------------------

FILES = {
    "a module beside the script": {"main": "import helper", "helper": "import torch\ntorch.sparse"},
    "a module of a package": {
        "main": "from lib.inner import f",
        "lib/__init__": "",
        "lib/inner": "from torch import sparse",
    },
    "a submodule that is imported as a name": {
        "main": "from lib import inner",
        "lib/__init__": "",
        "lib/inner": "from torch import sparse",
    },
    "a relative import": {
        "main": "import lib",
        "lib/__init__": "from . import inner",
        "lib/inner": "from .most import f",
        "lib/most": "import torch\ndef f():\n    torch.sparse",
    },
    "a folder without __init__": {"main": "import lib.inner", "lib/inner": "import torch\ntorch.sparse"},
    "files that import each other": {
        "main": "import a",
        "a": "import b",
        "b": "import a, main\nimport torch\ntorch.sparse",
    },
}


@pytest.mark.parametrize("name", FILES)
def test_the_users_own_modules_are_read(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, CPU)
    found = chosen(tmp_path, FILES[name]["main"], FILES[name])
    assert found == Choice("torch", f"torch.sparse is not in the model{RECORDED}")


def test_a_module_that_surely_runs_is_refused_at_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, None)
    with pytest.raises(NeedsTorchError, match=r"helper\.py, line 2: torch\.sparse is not in the model"):
        chosen(tmp_path, "import helper", files={"helper": "import torch\ntorch.sparse"})
    assert chosen(tmp_path, "def f():\n    import helper") == ON_MODEL


def test_the_main_block_of_a_module_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, CPU)
    found = chosen(
        tmp_path, "import helper", files={"helper": "import torch\nif __name__ == '__main__':\n    torch.sparse"}
    )
    assert found == ON_MODEL


MODULES = {
    "torch.ao.quantization": "torch.ao.quantization is not in the model",
    "lib.main": "torch.sparse is not in the model",
    "lib": "torch.sparse is not in the model",
}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_runs_with_the_packages_that_contain_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, CPU)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lib").mkdir()
    for file, text in {"__init__": "from . import tools", "tools": "import torch\ntorch.sparse"}.items():
        (tmp_path / "lib" / f"{file}.py").write_text(text)
    for file in ("main", "__main__"):
        (tmp_path / "lib" / f"{file}.py").write_text("print(1)")
    assert automatic_choice(read_source(Module(name))) == Choice("torch", f"{MODULES[name]}{RECORDED}")


def test_the_model_runs_every_example(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only examples of messages that PyTorch alone raises need it."""
    installed(monkeypatch, CPU)
    files = sorted(EXAMPLES.rglob("*.py"))
    elsewhere = [file.stem for file in files if automatic_choice(read_source(str(file))) != ON_MODEL]
    of_pytorch = {known.kind.replace(" ", "_").lower() for known in MESSAGES if known.engine == "torch"}
    assert len(files) > 300
    assert set(elsewhere) <= of_pytorch


@pytest.mark.parametrize("name", some(list(PROGRAMS), 10))
def test_the_model_runs_programs_that_give_the_same_on_both(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, CPU)
    assert chosen(tmp_path, f"import torch\n{PROGRAMS[name]}") == ON_MODEL
