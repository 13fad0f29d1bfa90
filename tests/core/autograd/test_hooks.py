"""Hooks on Nodes, with fakes; hooks on tensors are in test_tensor_hooks.py."""

from __future__ import annotations

import gc
from typing import Any

from dispatchviz.core.autograd.hooks.hooks import RemovableHandle

from .fake_nodes import FakeNode, run


def test_order_around_one_node() -> None:
    log: list[Any] = []
    leaf = FakeNode("leaf", log)
    node = FakeNode("node", log, [leaf, None])
    node.register_hook(lambda grad_inputs, grad_outputs: log.append(("post", grad_inputs, grad_outputs)))
    node.register_prehook(lambda grad_outputs: log.append(("pre 1", grad_outputs)))
    node.register_prehook(lambda grad_outputs: log.append(("pre 2", grad_outputs)))
    run(node)
    assert log == [("pre 1", (None,)), ("pre 2", (None,)), "node", ("post", (None, None), (None,)), "leaf"]


def test_hooks_do_not_run_when_the_node_is_only_captured() -> None:
    log: list[Any] = []
    leaf = FakeNode("leaf", log)
    leaf.register_prehook(lambda grad_outputs: log.append("pre"))
    leaf.register_hook(lambda grad_inputs, grad_outputs: log.append("post"))
    run(FakeNode("root", log, [leaf]), inputs=[leaf], accumulate=False)
    assert log == ["root"]


def test_removing_is_idempotent_and_acts_at_the_next_run() -> None:
    log: list[Any] = []
    node = FakeNode("node", log)
    handles: list[RemovableHandle] = []

    def first(grad_outputs: object) -> None:
        log.append("first")
        for handle in handles:
            handle.remove()

    handles.append(node.register_prehook(first))
    handles.append(node.register_prehook(lambda grad_outputs: log.append("second")))
    run(node)
    run(node)
    assert log == ["first", "second", "node", "node"]
    handles[0].remove()


def test_a_handle_is_a_context_manager_and_does_not_keep_the_node_alive() -> None:
    log: list[Any] = []
    node = FakeNode("node", log)
    with node.register_prehook(lambda grad_outputs: log.append("inside")) as handle:
        run(node)
    run(node)
    assert log == ["inside", "node", "node"]
    del node
    gc.collect()
    handle.remove()
