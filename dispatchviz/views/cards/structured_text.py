"""The classes of a structured kernel as text: a tree with files, the members, and a comparison of the three entries."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dispatchviz.explain.codegen.class_tree import class_branches
from dispatchviz.explain.codegen.structured_classes import DEFAULT, HELPERS, OUTPUTS, PROXY, Family, Wrapper
from dispatchviz.explain.locations.native_files import native_calls
from dispatchviz.foundation.english import listed
from dispatchviz.foundation.pytorch_release import MINOR
from dispatchviz.views.text.console import Console

ABOUT = (
    "A structured kernel consists of two functions: meta checks the arguments and computes the sizes, strides, dtype "
    "and device of the output, and impl computes the numbers. From these, torchgen generates the functional, the "
    "in-place and the out operator. The three differ only in set_output, which meta calls when it knows the output."
)

WAY = (
    "meta runs with maybe_get_output() as its output. If the class is a TensorIterator, meta builds the iterator "
    "(build_borrowing_binary_op and others), which calls set_output_raw_strided for each output. Other meta functions"
    " call set_output_raw_strided, set_output_strided or set_output_contiguous themselves. These calls are virtual: "
    "the override of the class below runs."
)

WITHOUT_NAMES = (
    "Older texts show a parameter names in set_output, and a call of at::namedinference::propagate_names. PyTorch "
    f"{MINOR} has neither."
)


def class_tree(family: Family, console: Console) -> Iterator[str]:
    """Yield one line for each class, with its name, the members that it adds and its file."""
    rows = [(branch.lines, branch.of) for branch in class_branches(family)]
    widest = max(len(branch) + len(each.name) for branch, each in rows)
    for branch, each in rows:
        file = each.file.rpartition("/")[2]
        said = "".join(f"  {member.name}" for member in each.members if member.name in ("meta", "impl"))
        fits = 2 + widest + 2 + len(file) + len(said) <= console.width
        room = widest + 2 - len(branch) - len(each.name) if fits else 2
        yield f"  {branch}{console.styled(each.name, 'bold')}{'':{room}}{console.styled(file, 'cyan')}{said}"


def structured_lines(family: Family, console: Console) -> Iterator[str]:
    """Yield everything: ``codegen OP --structured``."""
    yield ""
    yield console.heading("Structured kernel: the classes")
    yield from console.wrapped(ABOUT)
    yield ""
    yield from class_tree(family, console)
    yield ""
    yield from console.wrapped(f"{family.macro} expands to void {family.meta}. ATen/TensorMeta.h defines the macro.")
    yield from console.wrapped(WAY)
    yield from _members(family, console)
    yield from _loop(family, console)
    for key in dict.fromkeys(each.key for each in family.wrappers):
        yield from _forms(family, key, console)
    yield ""
    yield from console.wrapped(WITHOUT_NAMES)


def _members(family: Family, console: Console) -> Iterator[str]:
    yield ""
    yield console.heading("What each class has (● overrides what is above)")
    for each in family.classes:
        if each.form and each.key != family.wrappers[0].key:
            continue
        yield ""
        yield f"  {console.styled(each.name, 'bold')}  {console.styled(each.file, 'cyan')}"
        yield from console.columns(((f"{'●' if m.overrides else ' '} {m.name}", m.does) for m in each.members), 4)
    yield ""
    yield "  Functions beside those classes, in the same file"
    yield from console.columns(HELPERS.items(), 4)


STUB = (
    "A stub is a DispatchStub (ATen/native/DispatchStub.h). It holds a function pointer for each device type, and for"
    " the CPU one for each instruction set: DEFAULT, AVX2, AVX512 and others. The first call on the CPU chooses the "
    "one that fits the machine. If the class is a TensorIterator, the stub usually receives the object as the "
    "iterator, and cpu_kernel or cpu_kernel_vec (ATen/native/cpu/Loops.h) loops over the elements."
)

NO_STUB = "{impl} calls no stub itself."


def _loop(family: Family, console: Console) -> Iterator[str]:
    """Yield the calls of the CPU's impl function."""
    from dispatchviz.explain.calls.kernel_frames import STUBS  # it loads all kinds of events, which the tree needs not

    impl = family.impls.get("CPU", "")
    if not impl:
        return
    yield ""
    yield console.heading("Below impl: the stub and the loop")
    stubs = native_calls(impl)
    if not stubs:
        yield from console.wrapped(NO_STUB.format(impl=impl))
        return
    yield from console.wrapped(f"{impl} calls {listed(stubs)}.")
    yield from console.columns((chain[:2] for chain in STUBS.get(impl, ())), 4)
    yield from console.wrapped(STUB)


def _forms(family: Family, key: str, console: Console) -> Iterator[str]:
    """Yield the wrappers of a key, line by line. From the second key on, yield only the differences from the first."""
    wrappers = [each for each in family.wrappers if each.key == key]
    first = key == family.wrappers[0].key
    count = "the three entries" if len(wrappers) == 3 else f"{len(wrappers)} entries"
    yield ""
    yield console.heading(f"{key}: {count}") + (", one below the other; ≠ marks a difference" if first else "")
    if not first:
        yield from console.wrapped(OTHERS[key])
    for label, text in ROWS.items() if first else SHORT.items():
        cells = [(each.form, text(each)) for each in wrappers]
        if len({said for _, said in cells}) == 1:
            yield from console.columns([(f"  {label:22}", cells[0][1])] if cells[0][1] else [])
        else:
            yield f"  ≠ {label}"
            yield from console.columns(((form, said or "-") for form, said in cells), 6)


OTHERS = {
    "CUDA": "As for the CPU. In addition, set_output_strided and set_output_raw_strided first set the device of "
    "guard_, which stays set until the wrapper returns.",
    "Meta": "As for the CPU, but without impl: the outputs have sizes and no memory.",
    DEFAULT: "The default for backends that register only the out operator. set_output_strided and "
    "set_output_raw_strided set the device of guard_. create_out calls at::empty or at::empty_strided "
    "through the dispatcher. Instead of impl, the wrapper calls the out operator, also through the "
    "dispatcher.",
}
"""The differences in the classes and wrappers of the other keys."""


def _called(each: Wrapper, *starts: str) -> str:
    return "; ".join(step for step in each.steps if step.startswith(starts))


SHORT: dict[str, Callable[[Wrapper], str]] = {
    "wrapper": lambda each: each.name,
    "class": lambda each: each.class_name,
    "registered in": lambda each: each.place.rpartition("/")[2],
    "impl": lambda each: _called(each, "op.impl", "at::"),
}
"""The rows that differ between keys."""

ROWS: dict[str, Callable[[Wrapper], str]] = {
    "operator": lambda each: f"aten::{each.operator}",
    "wrapper": lambda each: each.name,
    "registered in": lambda each: each.place.rpartition("/")[2],
    "makes": lambda each: f"{each.class_name} {each.made}",
    "meta": lambda each: _called(each, "op.meta", "auto precompute"),
    "set_output_raw_strided": lambda each: OUTPUTS[each.form],
    "set_output_strided": lambda each: "the same" if each.form == "functional" else f"the same, and {PROXY}",
    "impl": lambda each: _called(each, "op.impl"),
    "copy of the proxy": lambda each: _called(each, "if "),
    "return": lambda each: _called(each, "return ").removeprefix("return "),
}
"""The rows that are compared, with a function that returns the text for one form."""
