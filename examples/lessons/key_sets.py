# # Which keys does a tensor bring to a call?
#
# An operator has kernels for many keys, and a call uses the kernel of one. Most keys of a call
# come from its tensors. So if you ask why a call goes to a kernel, first ask which keys its
# tensors have. Here are five tensors: a leaf that requires grad, a view, a tensor without memory
# on `meta`, one on a GPU, and one created in inference mode.

import torch

leaf = torch.ones(2, 2, requires_grad=True)
view = torch.ones(2, 2)[0]
meta = torch.ones(2, 2, device="meta")
cuda = torch.ones(2, 2, device="cuda")
with torch.inference_mode():
    plain = torch.ones(2, 2)

torch.neg(leaf)
torch.neg(view)
torch.neg(meta)
torch.neg(cuda)
torch.neg(plain)

# ## Predict
#
# Each tensor now goes to the same operator, `torch.neg`, so only the tensor can make a difference.
# Guess before you look: which of the five have an autograd key?
#
# predict: call neg in `torch.neg(leaf)`
# The tensor has four keys, and none of them represents `requires_grad`. CPU is where the numbers
# are. AutogradCPU means that there is an autograd layer for this device. ADInplaceOrView serves
# calls that write or create views, and AutocastCPU serves autocast. A call can go to one of them
# only if the tensor or the thread adds it.
#
# stop: call neg in `torch.neg(view)`
# The set is the same. A view shares memory with its base, but has the same keys as a tensor of its
# own. Its autograd metadata records that it is a view. A `Parameter`, an integer tensor and the
# result of `detach()` have these four keys, too.
#
# predict: call neg in `torch.neg(meta)`
# `meta` counts as a backend, so there is an AutogradMeta as well. A Node could be created although
# no numbers are computed. One key is missing compared with the CPU's set: there is no
# AutocastMeta.
#
# predict: call neg in `torch.neg(plain)`
# Inference mode is over here, but autograd still does not take part in this call. So the tensor
# makes the difference, not the thread.
#
# ## Run
#
# stop: key set of neg in `torch.neg(cuda)`
# The device decides: each CPU in the names is now a CUDA. A set is one 64-bit number, in which 16
# bits name backends and 46 bits name functionalities. AutogradCUDA is not a single bit. It is a
# pair: the bit for autograd and the bit for CUDA.
#
# ## Investigate
#
# stop: event TensorCreated in `leaf =`
# The set is computed here, when the tensor is created, from device, layout and dtype. Pane 8 shows
# the tensor. `requires_grad` is set some steps later, and the set does not change.
#
# stop: event TensorCreated in `plain =`
# In inference mode a new tensor gets neither AutogradCPU nor ADInplaceOrView, and it never gets
# them later. A kernel that would have to save this tensor for backward raises an error. Pane 7
# shows what the mode does to the thread: that is the other half, and it ends with the block.
#
# ## Modify
#
# Split the line `view = torch.ones(2, 2)[0]` in two: create the base before the `with`, and take
# the view `base[0]` inside it. Is the view an inference tensor? What about `base[0].clone()`,
# created inside?
#
# ## Make
#
# Write a program that calls `torch.neg` on the conjugate of a complex tensor, `c.conj()`, and on
# its imaginary part, `c.conj().imag`. Which keys are new? Does the winner change?


def facts():
    """Check the claims of the prose against PyTorch."""
    import torch

    keys, key_set, key = torch._C._dispatch_keys, torch._C.DispatchKeySet, torch._C.DispatchKey

    def named(*names):
        found = key_set.from_raw_repr(0)
        for name in names:
            found = found | key_set(getattr(key, name))
        return found

    x = torch.ones(2, 2)
    ordinary = named("CPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU")
    assert keys(x) == ordinary
    assert keys(torch.ones(2, 2, requires_grad=True)) == ordinary, "requires_grad has no key"
    assert keys(x[0]) == ordinary, "nor has a view"
    assert x[0]._base is x
    assert keys(torch.nn.Parameter(x)) == keys(x.detach()) == keys(x.to(torch.int64)) == ordinary
    meta = torch.ones(2, 2, device="meta")
    assert keys(meta) == named("Meta", "ADInplaceOrView", "AutogradMeta"), "no autocast key"
    assert torch.neg(meta.requires_grad_()).grad_fn is not None

    class Wrapper(torch.Tensor):
        """A tensor with the keys of a CUDA tensor, even without a GPU."""

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise NotImplementedError

    wrapper = keys(torch.Tensor._make_wrapper_subclass(Wrapper, (2,), device="cuda"))
    cuda = wrapper - key_set(key.Python) - key_set(key.PythonTLSSnapshot)
    assert cuda == named("CUDA", "ADInplaceOrView", "AutogradCUDA", "AutocastCUDA")

    autograd, on_cuda = key_set(key.AutogradCUDA).raw_repr(), key_set(key.CUDA).raw_repr()
    assert autograd & on_cuda == 0b10, "they share the bit of the backend"
    assert bin(autograd).count("1") == bin(on_cuda).count("1") == 2, "a pair of bits each"
    assert torch._C._dispatch_keyset_full().raw_repr() == 2 ** (16 + 46) - 1

    conjugate = torch.ones(2, dtype=torch.complex64).conj()
    assert keys(conjugate) == ordinary | key_set(key.Conjugate)
    assert keys(conjugate.imag) == ordinary | key_set(key.Negative)

    with torch.inference_mode():
        plain, view, copy = torch.ones(2, 2), x[0], x[0].clone()
    assert keys(plain) == keys(copy) == named("CPU", "AutocastCPU")
    assert keys(view) == ordinary, "a view of an ordinary tensor is ordinary"
    said = ""
    try:
        torch.mul(plain, torch.ones(2, 2, requires_grad=True))
    except RuntimeError as error:
        said = str(error)
    assert "Inference tensors cannot be saved for backward" in said


def check(trace):
    """Check which key wins for each of the tensors."""
    neg = "aten::neg"
    winners = ["AutogradCPU", "AutogradCPU", "AutogradMeta", "AutogradCUDA", "CPU"]
    assert_subsequence(trace, [call(neg, winner) for winner in winners])
    assert_count(trace, call(neg), 5)
    assert_count(trace, node_created("NegBackward0"), 1)
