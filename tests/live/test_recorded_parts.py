"""``--only`` on an installed PyTorch: the part is recorded as in a whole recording, and nothing is watched outside."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.live.registration import OUR_FILE
from dispatchviz.trace import Trace
from tests.live.recorded_parts import facts, filtered, recorded, selected

pytestmark = pytest.mark.torch

TRAINING = """
import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        self.scale = nn.Parameter(torch.ones(2))

    def forward(self, x):
        h = self.layers(x)
        return self.head(h) * self.scale

    def head(self, h):
        a = h * 2
        return a + 1


def step(net, optimizer, x, y):
    optimizer.zero_grad()
    out = net(x)
    loss = nn.functional.mse_loss(out, y)
    loss.backward()
    optimizer.step()
    return loss.item()


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
data = [(torch.randn(3, 4), torch.randn(3, 2)) for _ in range(4)]
for x, y in data:
    value = step(net, optimizer, x, y)
    w = x.sin() + y.mean()
    with torch.no_grad():
        w = w.t().cos()
    print(round(value, 4))
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("parts") / "training.py"
    path.write_text(TRAINING.lstrip("\n"))
    return path


@pytest.fixture(scope="module")
def whole(program: Path) -> Trace:
    outcome = recorded(program)
    assert outcome.error is None
    return outcome.trace


def _line(text: str) -> int:
    return TRAINING.lstrip("\n").splitlines().index(text) + 1


BACKWARD = f"line={_line('    loss.backward()')}"

PARTS = [
    *("module=layers.0", "module=net.layers", "module=Net", "module=ReLU", "module=net"),
    *(f"line={_line('        a = h * 2')}", BACKWARD, f"line={_line('    w = x.sin() + y.mean()')}"),
    *("op=sin", "op=*_backward", "op=mul,call=3", "call=20-30", "module=layers,op=addmm"),
]


@pytest.mark.parametrize("part", PARTS)
def test_part_is_recorded_as_in_a_whole_recording(part: str, program: Path, whole: Trace) -> None:
    found = facts(recorded(program, part).trace.events)
    assert found
    assert found == facts(selected(whole, part))


def test_iterations_are_recorded_with_their_lines_as_in_a_whole_recording(program: Path) -> None:
    found = facts(recorded(program, "iteration=2-3").trace.events, without=())
    assert found
    assert found == facts(filtered(program, "iteration=2-3").events, without=())


def test_iterations_limit_other_conditions(program: Path) -> None:
    found = facts(recorded(program, "iteration=3", "module=layers.2").trace.events)
    assert found
    assert found == facts(filtered(program, "iteration=3", "module=layers.2").events)


def test_backward_of_a_module_is_within_its_nodes(program: Path) -> None:
    events = recorded(program, "module=layers.2").trace.events
    nodes = {event.node for event in events if isinstance(event, ev.NodeCreated)}
    started = [event for event in events if isinstance(event, ev.NodeStarted)]
    assert [event.name for event in started[:2]] == ["AddmmBackward0", "torch::autograd::AccumulateGrad"]
    assert {event.node for event in started} <= nodes
    assert sum(isinstance(event, ev.GradientAccumulated) for event in events) == 8


def test_tensors_made_before_have_their_names(program: Path) -> None:
    trace = recorded(program, "module=layers.0").trace
    older = {e.tensor for e in trace.events if isinstance(e, ev.TensorCreated) and e.how == "known before"}
    named = {e.name for e in trace.events if isinstance(e, ev.NameBound) and e.tensor in older}
    assert {"x", "net.layers.0.weight", "net.layers.0.bias"} <= named


WATCHED = """
import torch

def watched(*operators):
    rows = "".join(torch._C._dispatch_dump(one) for one in operators)
    return "dispatchviz" in rows or torch._C._dispatch_tls_local_include_set().has(GATE)

GATE = torch._C._dispatch_key_parse("TESTING_ONLY_GenericMode")
OPERATORS = "aten::linear", "aten::addmm", "aten::t", "aten::add.Tensor"

class Inner(torch.nn.Linear):
    def forward(self, x):
        y = super().forward(x)
        print("inside", watched("aten::linear"))
        return y

net = torch.nn.Sequential(Inner(2, 2), torch.nn.ReLU())
x = torch.ones(1, 2)
for i in range(3):
    x = x + 1
    print("before", watched(*OPERATORS))
    y = net(x)
    y.sum().backward()
    print("after", watched(*OPERATORS))
print("end", watched(*OPERATORS))
"""

OUTSIDE = "before False\n{}after False\n"


@pytest.mark.parametrize(
    ("part", "written"),
    [
        ("module=Inner", OUTSIDE.format("inside True\n") * 3),
        ("line=21", OUTSIDE.format("inside True\n") * 3),
        ("line=22", OUTSIDE.format("inside False\n") * 3),
        ("op=relu", OUTSIDE.format("inside False\n") * 3),
        ("iteration=9", OUTSIDE.format("inside False\n") * 3),
        ("call=2", OUTSIDE.format("inside False\n") * 3),
    ],
)
def test_nothing_is_watched_outside_the_part(part: str, written: str, tmp_path: Path) -> None:
    path, output = tmp_path / "watched.py", io.StringIO()
    path.write_text(WATCHED.lstrip("\n"))
    assert recorded(path, part, output=output).error is None
    assert output.getvalue() == f"{written}end False\n"


@pytest.mark.parametrize("part", ["module=net.0", "module=model.net.0"])
def test_variable_in_front_selects_only_the_network_that_it_holds(part: str, tmp_path: Path) -> None:
    path, output = tmp_path / "two.py", io.StringIO()
    two = WATCHED.replace("y = net(x)", "y = model.beside(model.net(x))")
    path.write_text(two.replace("x = torch.ones(1, 2)\n", f"{TWO}x = torch.ones(1, 2)\n").lstrip("\n"))
    assert recorded(path, part, output=output).error is None
    assert output.getvalue().count("inside True\ninside False\n") == 3


TWO = """
class Model:
    net, beside = net, torch.nn.Sequential(Inner(2, 2))
model = Model()
"""

MISSED = {
    "module=layers.7": "no module layers.7: the program called Net, layers, layers.0, layers.1 and layers.2",
    "op=cosh": "no call of cosh",
    "op=sin,call=9": "no call 9 of sin: the program made 4 calls of sin",
    "iteration=12": f"no iteration 12: the loop on line {_line('for x, y in data:')} had 4",
}


@pytest.mark.parametrize("part", MISSED)
def test_part_that_never_ran_is_remarked(part: str, program: Path) -> None:
    trace = recorded(program, part).trace
    assert not [event for event in trace.events if isinstance(event, ev.Dispatched)]
    assert trace.header.remarks[0].replace(",", "").startswith(MISSED[part].replace(",", "").replace(" and", ""))
    assert trace.notices[0] == f"only a part of the program was recorded: {', '.join(trace.header.only)}"


def test_error_within_the_part_passes_through(tmp_path: Path) -> None:
    path = tmp_path / "fails.py"
    path.write_text("import torch\nnet = torch.nn.Linear(2, 3)\nx = torch.ones(1, 4)\nnet(x)\n")
    outcome = recorded(path, "module=net")
    assert outcome.error_message.startswith(f"{path}, line 4: RuntimeError: mat1 and mat2 shapes cannot be multiplied")
    (failed,) = [event for event in outcome.trace.events if isinstance(event, ev.ModuleCalled)]
    assert failed.name == "net"


def test_error_about_a_missing_kernel_has_the_text_of_a_plain_run(tmp_path: Path) -> None:
    path, output = tmp_path / "missing.py", io.StringIO()
    lines = "import torch", "x = torch.ones(2).to_sparse()", "try:", "    x.cos()", "except NotImplementedError as e:"
    path.write_text("\n".join((*lines, "    print(e)")))
    assert recorded(path, "line=4", output=output).error is None
    assert "Could not run 'aten::cos'" in output.getvalue()
    assert "TESTING_ONLY" not in output.getvalue()
    assert OUR_FILE not in output.getvalue()
