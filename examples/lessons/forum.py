# # Why AutogradCUDA runs first
#
# This is a question from PyTorch's forum, with its original program. `x` and `y` are on the GPU,
# and only `x` requires grad. A debugger shows that `torch.add(x, y)` enters the kernel for
# AutogradCUDA, which then calls the kernel for CUDA. The two questions: where does AutogradCUDA
# come from, and how does a call reach a kernel that was registered for `Autograd`?

import torch

device = torch.device("cuda")
x = torch.randn(2, 2).to(device)
y = torch.randn(2).to(device)
x.requires_grad_(True)
z = torch.add(x, y)
z.sum().backward()

# ## Predict
#
# The author of the question guessed that `x.requires_grad_(True)` adds AutogradCUDA. What do you
# think: which keys will `torch.add` find, and which of them wins?
#
# predict: call add
# The highest key that is left wins. Every ordinary CUDA tensor has AutogradCUDA from the moment it
# is created, `y` as well as `x`. `requires_grad` is a flag of the tensor and never changes its
# keys. Pane 2 shows the sets; `s` and `S` step through them.
#
# predict: cell of add at AutogradCUDA
# This is the second answer. No kernel was registered for AutogradCUDA. The kernel was registered
# for Autograd, an alias key. When the dispatch table is built, the alias fills the entry (cell) of
# every autograd key that has no kernel of its own. A call reads only one cell and is never
# dispatched to `Autograd` itself.
#
# ## Run
#
# stop: z's Node
# `VariableType::add_Tensor` runs. It would also run if no input required grad. Here one of its
# inputs requires grad, so it creates the Node AddBackward0 for the backward pass.
#
# ## Investigate
#
# stop: guard AutoDispatchBelowADInplaceOrView in `torch.add`
# Before the kernel redispatches, it enters a guard. Until the guard ends, the autograd keys are in
# the thread-local exclude set, so that calls of the kernels below are not recorded a second time.
#
# predict: redispatch add to CUDA
# A redispatch uses the set that it is given. The kernel has masked it with
# `after_autograd_keyset`, which leaves the keys below autograd. So guard and mask have different
# jobs: the mask decides this one call, and the guard protects all calls inside.
#
# stop: kernel wrapper_CUDA_add_Tensor
# Here the numbers are computed. Pane 4 shows the path to this kernel, and `A` unfolds it to every
# function of PyTorch.
#
# stop: x.grad
# Much later the engine walks back through the Nodes, and the leaf's AccumulateGrad writes the
# gradient of `x`. `y` gets none, because the second edge of AddBackward0 is empty.
#
# ## Modify
#
# Go back to the line `z = torch.add(x, y)` and press `W`. Run it with `requires_grad` of `x` off.
# Does AutogradCUDA still win? Is there a Node? Which error does `backward` raise then?
#
# ## Make
#
# Write a program on the CPU in which `torch.add` creates no Node although `x` requires grad. Which
# key wins there? `dispatchviz run FILE` shows it.
#
# goal: x.requires_grad
# goal: key("call add") == "AutogradCPU"
# goal: not happens("Node AddBackward0")
# hint: Keys do not decide whether a Node is made. What does the autograd kernel look at besides its
# inputs?
# hint: The kernel also asks for the grad mode. A context manager switches it off.
# hint: Write `with torch.no_grad():` around `z = torch.add(x, y)`. AutogradCPU still wins.


def facts():
    """Check the claims of the prose against PyTorch, on the CPU, whose keys follow the same rules."""
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
    """Check the chain of kernels that the forum question is about."""
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
