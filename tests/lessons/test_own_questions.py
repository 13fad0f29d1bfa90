"""The questions that a lesson asks itself: their form in the file, the values of their answers, refused ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.cli.lesson_check import problems, run_lesson
from dispatchviz.explain.predictions.prediction import Prediction
from dispatchviz.explain.predictions.typed_answers import normal
from dispatchviz.lessons.asked.own_questions import own_questions
from dispatchviz.lessons.asked.shown_values import selected
from dispatchviz.lessons.problem import LessonError
from dispatchviz.running.engines import engine_named
from tests.cli.command import refused
from tests.lessons.own_lesson import PROGRAM, QUESTIONS, found, guide, value, written

FORUM = "# stop: `z = f(f(x))`\n# ask: What?\n"


def test_question_has_its_parts(tmp_path: Path) -> None:
    first, typed, error = written(tmp_path, QUESTIONS).stops
    assert first.question is not None
    assert first.question.text == "Does `z.grad` have a gradient after this line?"
    assert [(each.text, each.reply) for each in first.question.choices] == [
        ("yes: backward computes it", "Backward frees it again."),
        ("no: only leaves keep theirs", ""),
    ]
    assert (first.question.answer, first.question.stated) == ("z.grad is not None", "no")
    assert first.question.because == "`z` is the result of an operator."
    assert (first.text, first.asks, first.stop) == ("Ask `z.is_leaf`.", True, "`z.sum().backward()`")
    assert typed.question is not None
    assert (typed.question.choices, typed.question.because, typed.text) == ((), "", "")
    assert error.stop == 'error "must be a matrix"'


def test_parts_may_have_several_lines_and_blank_lines_between_them(tmp_path: Path) -> None:
    lesson = written(
        tmp_path,
        "# stop: `count = 5`\n# ask: Is it\n# five?\n#\n# - yes\n# - no\n#\n# answer: (count\n#   == 5)\n"
        "# because: It\n# is.\n#\n# - a list\n# - of prose\n",
    )
    [stop] = lesson.stops
    assert stop.question is not None
    assert (stop.question.text, stop.question.answer) == ("Is it five?", "(count == 5)")
    assert (stop.question.because, stop.text) == ("It is.", "- a list\n- of prose")
    assert [choice.text for choice in stop.question.choices] == ["yes", "no"]


def test_expression_selects_the_choice(tmp_path: Path) -> None:
    first, typed, error = guide(written(tmp_path, QUESTIONS)).questions.values()
    assert first.right.text == "no: only leaves keep theirs"
    assert first.right.why == "`z` is the result of an operator."
    assert first.choices[0].text == "yes: backward computes it"
    assert (typed.choices, typed.right.text) == ((), "[7, 7]")
    assert ([choice.text for choice in error.choices], error.right.text) == (["yes", "no"], "no")


VALUES = [
    ("second `h = x`", "i", "1"),
    ("last `h = x`", "h", "[3, 3]"),
    ("`for i`", "i", "0"),
    ("`with torch`", "torch.is_grad_enabled()", "no"),
    ("last `with torch`", "[i, torch.is_grad_enabled()]", "[2, no]"),
    ("first `u = t`", "t is x", "yes"),
    ("second `u = t`", "t is x", "no"),
    ("second `return u`", "u", "[6, 6]"),
    ("`z = f`", "z.grad_fn", "AddBackward0"),
    ("`z = f`", "x.shape", "[2]"),
    ("`z = f`", "x.dtype", "torch.float32"),
    ("`z = f`", "x.grad", "None"),
    ("`z = f`", "all(p.is_leaf for p in [x])", "yes"),
    ("`z = f`", '"shared" if z is x else "own"', "own"),
    ("`z = f`", 'node("AddBackward0").next[1] is empty', "no"),
    ("first `h = x`", 'node("MulBackward0").next[1] is empty', "yes"),
    ("`z = f`", 'node("AddBackward0").next', "[MulBackward0, AccumulateGrad]"),
    ("`z = f`", 'node("z\'s Node").name', "AddBackward0"),
    ("`z = f`", 'count("run AddBackward0")', "0"),
    ("`z.sum", 'count("run AddBackward0")', "2"),
    ("`z.sum", 'node("x\'s AccumulateGrad").ran', "1"),
    ("`z.sum", 'node("SumBackward0").saved', "[]"),
    ("`z.sum", 'step("run SumBackward0") < step("x.grad")', "yes"),
    ("`z.sum", 'happens("error")', "no"),
    ("x.grad", "x.grad", "[7, 7]"),
    ("`count`", "count + count('call mul')", "12"),
    ("call mm", 'key("call mm")', "AutogradCPU"),
    ("call mm", '"CPU" in keys("call mm")', "yes"),
    ("error RuntimeError", 'happens("error RuntimeError")', "yes"),
    ('printed "multiply"', "printed()", "cannot multiply"),
    ('printed "multiply"', "printed() == 'cannot multiply\\n'", "yes"),
    ('printed "multiply"', "[printed()]", "[cannot multiply]"),
    ("`print(", 'str(error).startswith("self must be a matrix")', "yes"),
]


@pytest.mark.parametrize(("stop", "expression", "right"), VALUES, ids=[f"{stop}: {each}" for stop, each, _ in VALUES])
def test_answer_has_the_values_at_its_stop(stop: str, expression: str, right: str, tmp_path: Path) -> None:
    assert value(tmp_path, _closed(stop), expression) == right


def _closed(stop: str) -> str:
    return f"{stop}`" if stop.count("`") == 1 else stop


SAVES = """\
# # A title
import torch

w = torch.ones(2, requires_grad=True)
x = torch.ones(2, requires_grad=True)
y = w * x
z = y.exp()
u = (z * 2).exp() * w
w = x
late = 1
v = u.sin()

"""

SAVED = [
    ("`y = w`", "node('MulBackward0').saved", "[x, w]"),
    ("`y = w`", "node('MulBackward0').members", "[other, self]"),
    ("`z = y`", 'node("z\'s Node").saved', "[z]"),
    ("`z = y`", 'node("z\'s Node").members', "[result]"),
    ("`u = `", 'node("u\'s Node").saved', "[w, unnamed]"),
    ("`late`", 'node("u\'s Node").saved', "[earlier w, unnamed]"),
    ("`late`", "'z' in node('MulBackward0').saved", "no"),
    ("`z = y`", "y.grad_fn._saved_other is x", "yes"),
]


@pytest.mark.parametrize(("stop", "expression", "right"), SAVED)
def test_node_has_the_program_s_names_of_its_saved_tensors(
    stop: str, expression: str, right: str, tmp_path: Path
) -> None:
    assert value(tmp_path, stop, expression, SAVES) == right


USED_TWICE = """\
# # A title
import torch

w = torch.tensor(3.0, requires_grad=True)
v = torch.tensor(2.0, requires_grad=True)
a = w * 2
b = w * 5
c = v * 5

"""

A, B, C = (f'node("{name}\'s Node")' for name in "abc")

SAME_NODE = [
    (f"{A} is {A}", "yes"),
    (f"{A} is {B}", "no"),
    (f"{A}.next[0] is {B}.next[0]", "yes"),
    (f"{A}.next[0] is {C}.next[0]", "no"),
    (f"{A}.next[0] is not {B}.next[0]", "no"),
    (f'{A}.next[0] is node("w\'s AccumulateGrad")', "yes"),
    (f'{C} is node("MulBackward0")', "yes"),
    (f"{A} in [{B}, {A}]", "yes"),
]


@pytest.mark.parametrize("sign", ["is", "=="])
@pytest.mark.parametrize(("expression", "right"), SAME_NODE)
def test_node_that_is_found_in_two_ways_is_the_same(expression: str, right: str, sign: str, tmp_path: Path) -> None:
    expression = expression.replace(" is not ", " != ") if sign == "==" else expression
    assert value(tmp_path, "`c = v * 5`", expression.replace(" is ", f" {sign} "), USED_TWICE) == right


def test_program_has_the_same_shared_node_as_the_trace(tmp_path: Path) -> None:
    own = "a.grad_fn.next_functions[0][0] is b.grad_fn.next_functions[0][0]"
    assert value(tmp_path, "`c = v * 5`", own, USED_TWICE) == "yes"


@pytest.mark.torch
def test_saved_tensors_on_pytorch_have_the_same_names(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    asked = (f"# stop: {stop}\n# ask: {k}?\n# answer: {each}\n" for k, (stop, each, _) in enumerate(SAVED))
    lesson = written(tmp_path, "".join(asked), SAVES)
    found = own_questions(lesson, run_lesson(lesson, "torch").trace, engine_named("torch")).values()
    assert [each.right.text for each in found if isinstance(each, Prediction)] == [right for *_, right in SAVED]


@pytest.mark.torch
def test_answers_on_pytorch_are_the_same(tmp_path: Path) -> None:
    """A recording has no event for an error that the program catches."""
    pytest.importorskip("torch")
    same = [each for each in VALUES if "error" not in " ".join(each)]
    asked = (f"# stop: {_closed(stop)}\n# ask: {k}?\n# answer: {each}\n" for k, (stop, each, _) in enumerate(same))
    lesson = written(tmp_path, "".join(asked))
    found = own_questions(lesson, run_lesson(lesson, "torch").trace, engine_named("torch")).values()
    assert [each.right.text for each in found if isinstance(each, Prediction)] == [right for *_, right in same]


COMPOUND = """\
# # A title
pass
if False:
    never = 1
for a in []:
    pass
for a in [1]:
    break
def g():
    yield 1
for a in g():
    pass
else:
    b = 2
while a < 3:
    a += 1
if a: b = 4
c = 5; d = 6
class C:
    e = 7
@staticmethod
def h():
    return 8
match a:
    case 3:
        k = 9
try:
    h = 10
finally:
    m = 11
"""


@pytest.mark.parametrize(
    ("stop", "expression", "right"),
    [
        ("`if False`", "len([])", "0"),
        ("`for a in []`", "len([])", "0"),
        ("`for a in [1]`", "a", "1"),
        ("`for a in g`", "a", "1"),
        ("third `while`", "a", "3"),
        ("`class C`", "C.__name__", "C"),
        ("second `while`", "a", "2"),
        ("`if a`", "b", "4"),
        ("`c = 5`", "[c, d]", "[5, 6]"),
        ("`e = 7`", "e", "7"),
        ("`h = 10`", "h", "10"),
        ("`k = 9`", "k", "9"),
        ("`m = 11`", "m", "11"),
        ("`b = 2`", "b", "2"),
    ],
)
def test_line_of_any_statement_has_its_values(stop: str, expression: str, right: str, tmp_path: Path) -> None:
    assert value(tmp_path, stop, expression, COMPOUND) == right


REFUSED = [
    ("y.grad", "there is no variable y; the variables are torch, x, i, h, k, f, z"),
    ("ht.grad", "there is no variable ht; did you mean h?"),
    ("x.backward()", "calls x.backward, which an answer cannot call; it can call abs, "),
    ("x.sizes()", "calls x.sizes, which an answer cannot call; did you mean size"),
    ("f(x)", "calls f, which an answer cannot call"),
    ("lenn(h)", "calls lenn, which an answer cannot call; did you mean len"),
    ("x.grad is", "'x.grad is' is not an expression of Python: invalid syntax"),
    ("x.__class__", "has the name __class__"),
    ("(x := 1)", "has an assignment"),
    ("[lambda: 1]", "has a lambda"),
    ("2 ** 3", "has a power"),
    ("z.nothing", "AttributeError: 'Tensor' object has no attribute 'nothing'"),
    ("count == 5", "there is no variable count"),
    (
        'node("ExpBackward0").next',
        "there is no Node ExpBackward0 yet; the Nodes so far are MulBackward0, AccumulateGrad",
    ),
    ('node("call add").next', "node('call add') names no Node"),
    ("node(z).next", "take a name in quotes"),
    ('count("cal add") == 1', "'cal add' is not the name of a stop"),
    ('count("first call add") == 1', "leave out first to count all of them"),
    ('happens("call detache")', "there is no operator 'detache'; did you mean aten::detach"),
    ('step("x.grad") > 1', "does not happen before the end of this line"),
    ('key("x\'s AccumulateGrad")', "names no call"),
    ("f", "<function f"),
]


@pytest.mark.parametrize(("expression", "said"), REFUSED, ids=[expression for expression, _ in REFUSED])
def test_bad_expression_is_one_clear_problem(expression: str, said: str, tmp_path: Path) -> None:
    [problem] = found(tmp_path, f"{FORUM}# answer: {expression}\n")
    assert said in problem.text
    assert problem.line == len((tmp_path / "own.py").read_text().split("# answer")[0].split("\n"))


@pytest.mark.parametrize(
    ("choices", "value", "found"),
    [
        (["[[1, 1]]: the input", "[[2, 2]]"], "[[1, 1]]", [0]),
        (["[1, 1]", "[1, 1, 1]"], "[1, 1]", [0]),
        (["yes, always", "no"], "yes", [0]),
        (["aten::add", "aten::mul: a product"], "aten::mul", [1]),
        (["(2, 2): a pair", "4"], "[2, 2]", [0]),
        (["0", "1"], "2", []),
    ],
)
def test_value_selects_a_choice_by_its_beginning(choices: list[str], value: str, found: list[int]) -> None:
    assert selected(choices, value) == found


WRONG = [
    ("# answer: len([x]) -> 2\n", "'len([x])' is 1 after `z = f(f(x))` (line 13), but the lesson states 2"),
    ("# - yes\n# - no\n# answer: x.grad is None -> no\n", "which selects 'yes', but the lesson states no"),
    ("# - yes\n# - no\n# answer: x.grad is None -> maybe\n", "but the lesson states maybe, which is no choice"),
    (
        "# - None\n# - a tensor\n# answer: x.grad is None\n",
        "is yes after `z = f(f(x))` (line 13), which selects none of",
    ),
    ("# - yes\n# - yes: it is\n# answer: x.grad is None\n", "which selects more than one of the choices: yes; yes: it"),
]


@pytest.mark.parametrize(("part", "said"), WRONG)
def test_answer_that_differs_is_refused_with_the_value(part: str, said: str, tmp_path: Path) -> None:
    [problem] = found(tmp_path, FORUM + part)
    assert said in problem.text


FORMS = [
    ("# ask: What?\n# answer: x\n", 22, "a question needs a stop of its own"),
    ("# stop: z's Node\n# Prose.\n# ask: What?\n# answer: x\n", 24, "a question needs a stop of its own"),
    ("# predict: call add\n# ask: What?\n# answer: x\n", 23, "a question needs a stop of its own"),
    (f"{FORUM}# - one\n# - two\n", 23, "the question has no answer; add # answer: EXPRESSION"),
    (f"{FORUM}# because: It is.\n", 24, "write because: after answer:"),
    (f"{FORUM}# answer: x\n# answer: x\n", 25, "write answer: once"),
    (f"{FORUM}# - one\n# answer: x\n", 23, "two to 6 choices, or none; this one has 1"),
    (f"{FORUM}# - one\n# - one\n# answer: x\n", 25, "two choices are the same: one"),
    (f"{FORUM}# - {'o' * 73}\n# - one\n# answer: x\n", 24, "at most 72 characters, but this one has 73"),
    (f"{FORUM}# - one\n# two\n# answer: x\n", 25, "after the choices comes # answer: EXPRESSION"),
    ("# stop: z's Node\n# answer: x\n", 23, "answer: belongs to a question; write # ask: before it"),
]


@pytest.mark.parametrize(("questions", "line", "said"), FORMS)
def test_question_with_a_wrong_form_is_refused_with_its_line(
    questions: str, line: int, said: str, tmp_path: Path
) -> None:
    with pytest.raises(LessonError) as raised:
        written(tmp_path, questions)
    assert f"own.py, line {line - 1}: " in str(raised.value)
    assert said in str(raised.value)


def test_answer_that_differs_between_runs_is_refused(tmp_path: Path) -> None:
    program = PROGRAM.replace("import torch\n", "import random, torch\n").replace(
        "count = 5", "count = random.random()"
    )
    lesson = written(tmp_path, "# stop: `count = `\n# ask: What?\n# answer: count\n", program)
    [problem] = problems(lesson)
    assert problem.text.startswith("the answer is 0.")
    assert problem.text.endswith(" in the next; begin the program with torch.manual_seed(0) or random.seed(0)")


def test_question_at_the_first_step_is_refused(tmp_path: Path) -> None:
    [problem] = found(tmp_path, "# stop: `import torch`\n# ask: What?\n# answer: torch\n")
    assert problem.text == "the first step shows no answer, because nothing is before it; choose a later stop"


@pytest.mark.parametrize("command", [[], ["--plain"], ["-o", "own.md"]])
def test_lesson_with_a_wrong_answer_does_not_open(command: list[str], tmp_path: Path) -> None:
    path = written(tmp_path, f"{FORUM}# answer: y.grad\n").path
    said = refused("lesson", path, *command, cwd=tmp_path)
    assert said.startswith(f"dispatchviz: {path}, line 23: 'y.grad' has no value after `z = f(f(x))` (line 13)")


def test_unknown_directive_does_not_open(tmp_path: Path) -> None:
    path = written(tmp_path, "# question: What?\n").path
    said = refused("lesson", path)
    assert said.startswith(f"dispatchviz: {path}, line 21: there is no directive question: ...; did you mean # ask:")


SAME = [("[4, 4]", "[4.0,4.]"), ("(2, 2)", "[2, 2]"), ("True", "yes"), ("'CPU'", "cpu"), ("0.50", "0.5"),
        ("10", "10.00"), ("tensor([1., 2.])", "[1, 2]"), ("torch.Size([2])", "[2]"), ("4, 24", "[4, 24]")]  # fmt: skip


@pytest.mark.parametrize(("typed", "right"), SAME)
def test_typed_answers_with_the_same_meaning_are_equal(typed: str, right: str) -> None:
    assert normal(typed) == normal(right)


@pytest.mark.parametrize(("typed", "right"), [("10", "1"), ("1.05", "1.5"), ("100", "1"), ("no", "yes"), ("-1", "1")])
def test_typed_answers_with_another_meaning_are_not(typed: str, right: str) -> None:
    assert normal(typed) != normal(right)
