"""``torch._C`` of the model, compared with answers recorded on PyTorch (``truth/recorders/torch_c_answers.py``)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dispatchviz import torch
from truth import records
from truth.questions import torch_c as questions
from truth.questions.guards import GUARDS, SETTERS, Watched

pytestmark = pytest.mark.record("torch_c_answers")

C = torch._C
DATA: dict[str, Any] = records.read("torch_c_answers")


def as_json(value: Any) -> Any:
    """Return tuples as lists."""
    return json.loads(json.dumps(value))


@pytest.fixture(scope="module")
def answers() -> dict[str, list[list[str]]]:
    """Evaluate all expressions once, in order. Some change the results of later ones."""
    answered = questions.TorchC(torch)
    found = {
        "answers": [[text, answered.answer(text)] for text in questions.all_expressions()],
        "schemas": [[text, answered.schema(text)] for text in questions.expressions(questions.SCHEMAS)],
    }
    answered.close()
    return found


@pytest.mark.parametrize("number", range(len(DATA["answers"])))
def test_the_answer_is_pytorchs(answers: dict[str, list[list[str]]], number: int) -> None:
    assert answers["answers"][number] == DATA["answers"][number]


@pytest.mark.parametrize("number", range(len(DATA["schemas"])))
def test_schemas_are_read_as_by_pytorch(answers: dict[str, list[list[str]]], number: int) -> None:
    assert answers["schemas"][number] == DATA["schemas"][number]


def test_every_question_has_a_recorded_answer() -> None:
    assert [text for text, _ in DATA["answers"]] == questions.all_expressions()
    assert [text for text, _ in DATA["guards"]] == list(GUARDS)
    assert [tuple(setting) for *setting, _ in DATA["setters"]] == list(SETTERS)


# -- guards -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(len(GUARDS)))
def test_guards_change_the_sets_as_pytorchs_do(number: int) -> None:
    watched = Watched(C)
    before = watched.sets()
    assert as_json(watched.guard(GUARDS[number])) == DATA["guards"][number][1]
    assert as_json(watched.dropped(GUARDS[number])) == DATA["dropped"][number][1]
    assert watched.sets() == before


@pytest.mark.parametrize("number", range(len(SETTERS)))
def test_setters_leave_backend_bits_behind(number: int) -> None:
    assert as_json(Watched(C).setter(*SETTERS[number])) == DATA["setters"][number][2]


def test_meta_in_the_included_set_leaves_dense_behind() -> None:
    assert as_json(Watched(C).meta()) == DATA["meta"]


# -- signatures -------------------------------------------------------------------------------------------------------


def test_every_function_has_pytorchs_signature() -> None:
    ours = {name: str(value.__doc__).partition("\n")[0] for name, value in vars(C).items() if callable(value)}
    bound = {name: line for name, line in ours.items() if line.startswith(f"{name}(") and name in DATA["signatures"]}
    assert len(bound) > 40
    assert bound == {name: DATA["signatures"][name] for name in bound}


MISSING = {"impl_with_aoti_compile", "register_ad_inplace_or_view_fallback"}
"""Methods of libraries that need a compiler or PyTorch's own kernels."""


@pytest.mark.parametrize("name", questions.CLASSES)
def test_every_method_has_pytorchs_signature(name: str) -> None:
    theirs = {method: line for method, line in DATA["members"][name].items() if method not in MISSING}
    assert {method: str(getattr(getattr(C, name), method).__doc__).partition("\n")[0] for method in theirs} == theirs


def test_no_dispatcher_function_is_missing() -> None:
    missing = {name for name in DATA["signatures"] if name.startswith("_dispatch_") and not hasattr(C, name)}
    assert missing == {"_dispatch_make_pyobj_dispatch_fns"}  # it makes the fast path of custom operators in Python


# -- libraries --------------------------------------------------------------------------------------------------------


def test_a_deleted_library_deregisters_its_kernels() -> None:
    library = C._dispatch_library("FRAGMENT", "gone", "")
    library.def_("foo(Tensor x) -> Tensor").impl_t_t("foo", "CPU")
    assert C._dispatch_has_kernel("gone::foo")
    del library
    assert not C._dispatch_has_kernel("gone::foo")


def test_a_typed_kernel_runs() -> None:
    library = C._dispatch_library("FRAGMENT", "runs", "")
    library.def_name_t_t("foo")
    x = torch.ones(2)
    assert torch.ops.runs.foo(x) is x
    library.reset()


def test_kernels_in_python() -> None:
    library = C._dispatch_library("FRAGMENT", "python", "", "somewhere.py", 7)
    library.define("foo(Tensor x) -> Tensor", tags=[C.Tag.pointwise])
    seen = []
    library.impl("foo", "CPU", lambda ks, x: seen.append(ks) or x + 1, with_keyset=True)
    assert torch.ops.python.foo(torch.ones(1)).item() == 2
    assert (type(seen[0]), repr(seen[0])) == (C.DispatchKeySet, "DispatchKeySet(CPU)")
    assert "CPU: registered at somewhere.py:7 :: (none) [ boxed ]" in C._dispatch_dump("python::foo")
    library.reset()


def test_fallbacks_in_python() -> None:
    library = C._dispatch_library("IMPL", "_", "")
    calls = []
    library.fallback("AutogradIPU", lambda op, *args: calls.append(str(op)))
    ours = C._dispatch_library("FRAGMENT", "falls", "")
    ours.def_("foo(Tensor x) -> ()")
    torch.ops.falls.foo.default.redispatch(C.DispatchKeySet("AutogradIPU"), torch.ones(1))
    assert calls == ["falls.foo.default"]
    library.reset()
    assert not C._dispatch_has_backend_fallback("AutogradIPU")
    ours.reset()


# -- during a call, and after an error --------------------------------------------------------------------------------


def test_a_kernel_may_register_and_undo_kernels_of_its_own_operator() -> None:
    library = C._dispatch_library("FRAGMENT", "reentrant", "")
    library.def_("foo(Tensor x) -> Tensor")
    first, second = C._dispatch_library("IMPL", "reentrant", "CPU"), C._dispatch_library("IMPL", "reentrant", "CPU")

    def newer(x: Any) -> Any:
        second.reset()
        return x * 3

    def older(x: Any) -> Any:
        second.impl("foo", "CPU", newer)
        return torch.ops.reentrant.foo(x) + torch.ops.reentrant.late(x)

    first.impl("foo", "CPU", older)
    library.def_name_t_t("late", "CPU")
    before = C._dispatch_dump("reentrant::foo"), C._dispatch_dump_table("reentrant::foo")
    with pytest.warns(UserWarning, match="Overriding a previously registered kernel"), _nothing_warned():
        assert torch.ops.reentrant.foo(torch.ones(1)).item() == 4
    assert (C._dispatch_dump("reentrant::foo"), C._dispatch_dump_table("reentrant::foo")) == before
    C._dispatch_check_invariants("reentrant::foo")
    for made in (first, second, library):
        made.reset()


def test_a_library_can_be_destroyed_while_its_kernel_runs() -> None:
    library = C._dispatch_library("FRAGMENT", "sawing", "")
    library.def_("foo(Tensor x) -> Tensor")
    branch = C._dispatch_library("IMPL", "sawing", "CPU")

    def kernel(x: Any) -> Any:
        branch.reset()
        return x + 1

    branch.impl("foo", "CPU", kernel)
    assert torch.ops.sawing.foo(torch.ones(1)).item() == 2
    with pytest.raises(NotImplementedError, match="Could not run 'sawing::foo' with arguments from the 'CPU' backend"):
        torch.ops.sawing.foo(torch.ones(1))
    library.reset()


BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "an unknown key": (
        lambda library: library.impl_t_t("foo", "NoSuchKey"),
        RuntimeError,
        "could not parse dispatch key: NoSuchKey",
    ),
    "a malformed schema": (
        lambda library: library.def_("bar(Tensor x"),
        RuntimeError,
        r"expected \) but found 'eof' here:\nbar\(Tensor x$",
    ),
    "a kernel that does not fit": (
        lambda library: library.def_schema_t_t("bad(int x) -> Tensor", debug="k"),
        RuntimeError,
        "reason: Type mismatch in argument 1: int vs Tensor.",
    ),
    "a kernel that raises": (lambda library: torch.ops.bad.raises(torch.ones(1)), ZeroDivisionError, "modulo by zero"),
    "no function": (lambda library: torch.ops.bad.nothing(torch.ones(1)), TypeError, "'int' object is not callable"),
}


@pytest.mark.parametrize("what", list(BAD))
def test_bad_input_raises_one_clear_error_and_changes_no_table(what: str) -> None:
    library = C._dispatch_library("FRAGMENT", "bad", "")
    library.def_("foo(Tensor x) -> Tensor").impl_t_t("foo", "CPU")
    library.def_("raises(Tensor x) -> Tensor").def_("nothing(Tensor x) -> Tensor")
    library.impl("raises", "CPU", lambda x: 1 // 0)
    library.impl("nothing", "CPU", 5)
    names = ("bad::foo", "bad::raises", "bad::nothing")
    before = [dump(name) for name in names for dump in (C._dispatch_dump, C._dispatch_dump_table)]
    act, error, text = BAD[what]
    with pytest.raises(error, match=text) as caught:
        act(library)
    assert caught.value.__cause__ is None
    assert [dump(name) for name in names for dump in (C._dispatch_dump, C._dispatch_dump_table)] == before
    for name in names:
        C._dispatch_check_invariants(name)
    library.reset()
    assert C._dispatch_find_dangling_impls() == []


def _nothing_warned() -> Any:
    from dispatchviz.core.thread import warning

    return warning.reset_warnings()


# -- the class that explains ------------------------------------------------------------------------------------------


def test_python_dispatcher_shows_registrations_and_table() -> None:
    from dispatchviz.torch._python_dispatcher import PythonDispatcher

    dispatcher = PythonDispatcher()
    dispatcher.register(["CPU", "FPGA", "CompositeImplicitAutograd"])
    rows = dict(line.split(maxsplit=1) for line in dispatcher.dispatchTable().splitlines()[4:])
    assert rows["CPU"] == "fn_CPU [kernel]"
    assert rows["AutogradOther"] == "ambiguous_autogradother [ambiguous autogradother]"
    assert rows["AutogradCPU"] == "[backend fallback]"
    assert rows["XLA"] == "fn_CompositeImplicitAutograd [math kernel]"
    assert dispatcher.registrations().splitlines()[4:] == [
        "FPGA            fn_FPGA",
        "CPU             fn_CPU",
        "CompositeImplicitAutograd[alias] fn_CompositeImplicitAutograd",
    ]
    with pytest.raises(RuntimeError, match="Overridden is not allowed but found duplicates"):
        dispatcher.register(["CPU", "CPU"])
    with pytest.raises(RuntimeError, match="is not supported, please select a dispatch key in"):
        dispatcher.register(["Meta"])
    with pytest.raises(RuntimeError, match="Registration to both"):
        dispatcher.register(["CompositeImplicitAutograd", "CompositeExplicitAutograd"])
    del dispatcher
    assert not C._dispatch_has_kernel("__test__::foo")
