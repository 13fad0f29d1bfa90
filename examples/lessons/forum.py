# # Why AutogradCUDA runs first
#
# A question from PyTorch's forum, word for word the program of it. `x` and `y` are on the GPU and
# only `x` requires grad. A debugger shows that `torch.add(x, y)` enters AutogradCUDA's kernel, and
# CUDA's only from there. Two things were asked: where does AutogradCUDA come from, and how does a
# call get to a kernel that was registered to `Autograd`?

import torch

device = torch.device("cuda")
x = torch.randn(2, 2).to(device)
y = torch.randn(2).to(device)
x.requires_grad_(True)
z = torch.add(x, y)
z.sum().backward()

# ## Predict
#
# The asker's guess was that `x.requires_grad_(True)` brings AutogradCUDA. What do you think: which
# keys will `torch.add` find, and which of them wins?
#
# predict: call add
# The highest key that is left wins. Every ordinary CUDA tensor has AutogradCUDA from the moment it
# is made, `y` as much as `x`: `requires_grad` is a flag of the tensor, and no key depends on it.
# Pane 2 has the sets; `s` and `S` walk through them.
#
# predict: cell of add at AutogradCUDA
# This is the second answer. Nobody registered a kernel to AutogradCUDA. It was registered to
# Autograd, an alias key: when the table is built, the alias fills the cell of every autograd key
# that has no kernel of its own. A call only ever looks into one cell, `Autograd` itself is never
# dispatched to.
#
# ## Run
#
# stop: z's Node
# `VariableType::add_Tensor` runs. It would run without any `requires_grad`, too; now it finds that
# one of its inputs requires grad, so it makes the Node AddBackward0 for the backward pass.
#
# ## Investigate
#
# stop: guard AutoDispatchBelowADInplaceOrView in `torch.add`
# Before it hands on, it puts up a guard: until that ends the thread excludes the autograd keys, so
# that what the kernels below call is not recorded a second time.
#
# predict: redispatch add to CUDA
# A redispatch takes the set as it is given: the kernel has masked it with `after_autograd_keyset`,
# which leaves the keys below autograd. So guard and mask are two things. The mask decides this one
# call; the guard protects all calls within.
#
# stop: kernel wrapper_CUDA_add_Tensor
# Here the numbers are computed. Pane 4 has the way that led here, `A` unfolds it to every function
# of PyTorch.
#
# stop: x.grad
# Much later the engine walks the Nodes back, and the leaf's AccumulateGrad gives `x` its gradient.
# `y` gets none: the second edge of AddBackward0 is empty.
#
# ## Modify
#
# Go back to the line `z = torch.add(x, y)` and press `W`: run it with `requires_grad` of `x` off.
# Does AutogradCUDA still win? Is there a Node? What does `backward` say then?
#
# ## Make
#
# Write a program on the CPU in which `torch.add` makes no Node although `x` requires grad. Which
# key wins there? `dispatchviz run FILE` shows it.


def facts():
    """What the prose says of PyTorch; on the CPU, whose keys follow the same rules."""
    import torch

    keys, dispatch_key = torch._C._dispatch_keys, torch._C.DispatchKey
    x, y = torch.ones(2), torch.ones(2)
    before = keys(x)
    x.requires_grad_(True)
    assert keys(x) == before == keys(y), "no key depends on requires_grad"
    assert keys(y).has(dispatch_key.AutogradCPU), "every ordinary tensor has its autograd key"
    assert keys(torch.empty(2, device="meta")).has(dispatch_key.AutogradMeta)
    table = torch._C._dispatch_dump_table("aten::add.Tensor").splitlines()
    cells = {row.partition(":")[0]: row for row in table}
    assert "[autograd kernel]" in cells["AutogradCUDA"], "the kernel comes from the alias key"
    assert "Autograd" not in cells, "the alias key has no cell"
    assert not torch._C._dispatch_has_kernel_for_dispatch_key("aten::add.Tensor", "AutogradCUDA")
    assert torch._C._dispatch_has_kernel_for_dispatch_key("aten::add.Tensor", "Autograd")
    assert type(torch.add(x, y).grad_fn).__name__ == "AddBackward0"
    assert torch.add(x, y).grad_fn.next_functions[1] == (None, 0), "y has no edge"


def check(trace):
    """The chain that the asker looked for."""
    add = "aten::add.Tensor"
    assert_subsequence(
        trace,
        [
            call(add, "AutogradCUDA"),
            kernel("VariableType::add_Tensor", under="AutogradCUDA"),
            node_created("AddBackward0"),
            redispatch(add, "CUDA"),
            kernel("wrapper_CUDA_add_Tensor", under="CUDA"),
        ],
    )
