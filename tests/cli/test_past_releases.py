"""``table``, ``why`` and ``keys`` with ``--release``, and ``why --since``, as a user sees them."""

from __future__ import annotations

import json

from .command import dispatchviz


def test_table_of_an_older_release() -> None:
    ended = dispatchviz("table", "ldexp", "CPU", "Named", "FuncTorchVmapMode", "--release", "2.9", "--build", "cpu")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out == (
        """\
aten::ldexp.Tensor  (PyTorch 2.9.0, build cpu)
  aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor
  defined: registered at build/aten/src/ATen/RegisterSchema.cpp:6
  130 of 138 entries hold a kernel; the mask of its calls is 0x7fae70f7fbffffff

  1 ○ CPU                math kernel
      wrapper_CompositeImplicitAutograd_Tensor_ldexp  RegisterCompositeImplicitAutograd_0.cpp:6218
 91 ○ Named              backend fallback
      named_not_supported_kernel  NamedRegistrations.cpp:7
127 ↷ FuncTorchVmapMode  backend fallback
      fallthrough_kernel  VmapModeRegistrations.cpp:27

○ a kernel   ↷ fallthrough: calls skip it

aten::ldexp has other overloads, too: out.
"""
    )


def test_folded_table_names_keys_that_only_the_older_release_has() -> None:
    folded = dispatchviz("table", "add", "--release", "2.6").out
    assert "the 15 Autograd keys" in folded
    assert " Named " in folded
    everything = dispatchviz("table", "add", "--release", "2.6", "--all").out
    assert sum(" Autograd" in line for line in everything.splitlines()) == 17


def test_release_of_the_model_is_the_default() -> None:
    for words in (["table", "add"], ["why", "linear", "PrivateUse1"], ["keys", "CPU"], ["keys"]):
        assert dispatchviz(*words, "--release", "2.14").out == dispatchviz(*words).out


def test_table_is_printed_as_json() -> None:
    table = json.loads(dispatchviz("table", "add", "CPU", "--release", "2.6", "--json").out)
    assert (table["release"], table["build"], table["entries"]) == ("2.6.0", "cuda", 131)
    assert [(row["key"], row["reason"]) for row in table["rows"]] == [("CPU", "kernel")]
    assert json.loads(dispatchviz("table", "add", "CPU", "--json").out)["release"] == "2.14.1"


def test_why_of_an_older_release() -> None:
    out = dispatchviz("why", "ldexp", "AutogradCPU", "--release", "2.9").out
    assert out.startswith("aten::ldexp.Tensor  AutogradCPU  (table entry 97 of 138, PyTorch 2.9.0, build cuda)\n")
    assert "In PyTorch 2.9, the alias CompositeImplicitAutograd covers 104 keys." in " ".join(out.split())
    assert "dispatchviz table aten::ldexp.Tensor --release 2.9\n" in out
    assert "dispatchviz why aten::ldexp.Tensor AutogradCPU --since" in out
    assert "What would change it" not in out
    found = json.loads(dispatchviz("why", "ldexp", "AutogradCPU", "--release", "2.9", "--json").out)
    assert (found["release"], found["answers"][0]["reason"]) == ("2.9.0", "math kernel")


def test_since_in_text_and_json() -> None:
    ended = dispatchviz("why", "ldexp", "AutogradCPU", "--since")
    assert (ended.status, ended.err) == (0, "")
    text = " ".join(ended.out.split())
    assert text.startswith("aten::ldexp.Tensor AutogradCPU (PyTorch 2.6 to 2.14, build cuda) Since 2.11, the entry ")
    found = json.loads(dispatchviz("why", "ldexp", "AutogradCPU", "CUDA", "--since", "--json").out)
    assert [each["key"] for each in found["histories"]] == ["AutogradCPU", "CUDA"]
    assert [change["since"] for change in found["histories"][0]["changes"]] == ["2.11"]


def test_keys_of_an_older_release() -> None:
    named = dispatchviz("keys", "Named", "--release", "2.9").out
    assert named.startswith("Named  (PyTorch 2.9, runtime key, value 16)\n")
    assert "517 operators register a kernel for Named itself" in named
    order = json.loads(dispatchviz("keys", "--release", "2.9", "--json").out)
    assert len(order["functionalities"]) == 47
    assert order["aliases"][1]["stands_for"].endswith("; also Functionalize")
    alias = dispatchviz("keys", "CompositeImplicitAutograd", "--release", "2.6").out
    assert "a kernel for 99 keys at once" in alias


def test_key_sets_of_older_releases() -> None:
    out = dispatchviz("keys", "0x2000008001", "CPU+AutogradCPU", "--release", "2.6").out
    assert out.count("0x2000008001  (137438986241), as PyTorch 2.6 reads it") == 2
    assert out.count("selects              AutogradCPU, table entry 93") == 2
    old = dispatchviz("keys", "7", "--release", "1.7").out
    assert "bits                 0 CPU, 1 CUDA, 2 HIP" in old
    assert "selects" not in old
