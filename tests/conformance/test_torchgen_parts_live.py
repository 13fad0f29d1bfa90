"""The descriptions of torchgen's parts, checked against the installed torchgen, which generates under observation."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from dispatchviz.explain.codegen import torchgen_parts as parts
from dispatchviz.explain.codegen.generated_files import ATEN, AUTOGRAD
from dispatchviz.explain.codegen.kept_texts import kept
from dispatchviz.explain.codegen.torchgen_parts import WRITERS, Part, Writer, writer_of
from dispatchviz.explain.codegen.torchgen_texts import INCLUDING, named

torch: Any = pytest.importorskip("torch")

from dispatchviz.explain.codegen.torchgen_output import generate  # noqa: E402
from dispatchviz.explain.codegen.torchgen_yaml import packaged  # noqa: E402

pytestmark = pytest.mark.torch

FAMILIES = ("add", "t", "empty", "randn", "max", "view")


def module_of(part: Part) -> str:
    """Return the module: ``torchgen.packaged.autograd.gen_variable_type`` for
    ``tools/autograd/gen_variable_type.py``.
    """
    return part.file.replace("tools/", "torchgen/packaged/").removesuffix(".py").replace("/", ".")


@contextmanager
def called(names: set[tuple[str, str]]) -> Iterator[None]:
    """Record the called functions of torchgen as module and name; for a method, the name of its class."""

    def note(frame: FrameType, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("torchgen"):
            names.add((module, frame.f_code.co_qualname.partition(".")[0]))

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


Watched = tuple[set[tuple[str, str]], dict[str, tuple[str, str]], Path]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """Return the functions that are called, the template and the writing module of each file, and the folder of the
    files.
    """
    from torchgen.utils import FileManager

    names: set[tuple[str, str]] = set()
    files: dict[str, tuple[str, str]] = {}
    original = FileManager.write_with_template

    def write(self: Any, filename: str, template: str, *given: Any, **named: Any) -> None:
        frame = sys._getframe(1)
        while frame.f_globals["__name__"] == "torchgen.utils" and frame.f_back is not None:
            frame = frame.f_back
        below = Path(self.install_dir).name
        place = AUTOGRAD if below == "autograd" else f"{ATEN}/ops" if below == "ops" else ATEN
        files[f"{place}/{filename}"] = (template, frame.f_globals["__name__"])
        original(self, filename, template, *given, **named)

    folder = tmp_path_factory.mktemp("torchgen")
    with pytest.MonkeyPatch.context() as patch, called(names):
        patch.setattr(FileManager, "write_with_template", write)
        generate(packaged(), folder, lambda yaml: yaml.of_families(*FAMILIES))
    return names, files, folder


@pytest.mark.parametrize("part", [*parts.READERS, *(writer.part for writer in WRITERS)], ids=lambda part: part.name)
def test_a_part_exists_and_is_used(part: Part, watched: Watched) -> None:
    assert inspect.getmodule(getattr(importlib.import_module(module_of(part)), part.name)) is not None
    plain = part is parts.BOTH  # a dataclass without a function of its own
    assert plain or (module_of(part), part.name) in watched[0]


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.pattern)
def test_the_module_that_writes_a_file_uses_its_template_and_part(writer: Writer, watched: Watched) -> None:
    written = {file: found for file, found in watched[1].items() if writer_of(file) == writer}
    assert written
    for file, (template, module) in written.items():
        assert template == writer.template_of(file)
        source = inspect.getsource(importlib.import_module(module))
        assert writer.part.name in source or module_of(writer.part) in source


def test_headers_of_all_operators_include_those_of_each(watched: Watched) -> None:
    for header, ending in INCLUDING.items():
        text = (watched[2] / "aten" / header).read_text()
        assert f"#include <ATen/ops/add{ending}>" in text
        assert "at::Tensor add(" not in text


CLAIMS = {
    "python_variable_methods.cpp": ("add.Tensor", "static PyObject * THPVariable_add(", '{"add", castPyCFunction'),
    "RegisterBackendSelect.cpp": ("empty.memory_format", "computeDispatchKey(dtype, layout, device)"),
    "TraceType": ("add.Tensor", "jit::tracer::isTracing()", "DispatchKey::Tracer"),
    "VariableType": (
        "add.Tensor",
        "make_intrusive<AddBackward0>",
        "grad_fn->alpha = alpha",
        "at::redispatch::add(ks &",
    ),
    "ADInplaceOrViewType": ("add_.Tensor", "increment_version(self)"),
    "ViewFuncs.cpp": ("t", "return at::_ops::t::call(input_base)"),
    "FunctionalInverses.h": ("t", "static at::Tensor t_inverse("),
    "VmapGeneratedPlumbing.h": ("add.Tensor", "unwrapTensorAtLevel(self, cur_level)", "makeBatched("),
    "RegisterCPU": (
        "add.Tensor",
        "structured_ufunc_add_CPU_functional op;",
        'm.impl("add.Tensor", TORCH_FN(wrapper_CPU',
    ),
    "add_cpu_dispatch.h": ("add.Tensor", "TORCH_API at::Tensor add("),
    "UfuncCPU_add": ("add.out", "TORCH_IMPL_FUNC(ufunc_add_CPU)", "add_stub(device_type(), *this, alpha)"),
    "UfuncCPUKernel_add": ("add.out", "AT_DISPATCH_CASE(at::ScalarType::Float", "cpu_kernel_vec(iter"),
    "UfuncCUDA_add": ("add.out", "TORCH_IMPL_FUNC(ufunc_add_CUDA)", "gpu_kernel(iter"),
    "Functions": ("add.Tensor", "struct TORCH_API AddBackward0", "variable_list AddBackward0::apply("),
    "python_functions": ("add.Tensor", '"_saved_alpha"', "addClass<AddBackward0>"),
    "variable_factories.h": ("randn", "requires_grad(::std::nullopt)"),
    "python_return_types.cpp": ("max.dim", '"torch.return_types.max"'),
    "RegistrationDeclarations.h": ("add.Tensor", '// {"schema": "aten::add.Tensor('),
}
"""File -> the parts that its description claims, in the text of an operator."""


@pytest.mark.parametrize("file", CLAIMS)
def test_a_file_contains_the_described_parts(file: str) -> None:
    operator, *described = CLAIMS[file]
    texts = kept(operator)
    assert texts is not None
    text = "".join(texts.text(each) for each in named([*texts.files()], file))
    assert [part for part in described if part not in text] == []
