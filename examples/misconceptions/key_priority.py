# # Does the kernel that was registered last run first?
#
# An operator of our own gets two kernels: first one for Autograd, then one for CPU.

import torch

library = torch.library.Library("order", "DEF")
library.define("f(Tensor x) -> Tensor")
library.impl("f", lambda x: x + 10, "Autograd")
library.impl("f", lambda x: x + 20, "CPU")
y = torch.ops.order.f(torch.tensor(1.0))

# stop: call order::f
# ask: What is `y` after this line?
# - 11: the kernel for Autograd runs
# - 21: the kernel for CPU was registered last
#   The order of registration does not matter for two different keys.
# - 31: both kernels run
# answer: y.item() -> 11
# because: This call goes to AutogradCPU, which is higher than CPU. Its kernel does not redispatch, so no other kernel
# of `f` runs.
#
# PyTorch has one fixed order of keys, the same for all operators. A call goes to the highest key of its key set.
# Registrations fill the dispatch table of an operator. They do not change the order of keys.


def facts():
    """Check the claims of the prose on PyTorch."""
    import torch

    def result(*registrations):
        library = torch.library.Library("order_of_facts", "FRAGMENT")
        library.define("f(Tensor x) -> Tensor")
        for number, key in registrations:
            library.impl("f", lambda x, number=number: x + number, key)
        y = torch.ops.order_of_facts.f(torch.tensor(1.0)).item()
        library._destroy()
        return y

    assert result((10, "Autograd"), (20, "CPU")) == 11
    assert result((20, "CPU"), (10, "Autograd")) == 11


def check(trace):
    """Check the key of the call."""
    assert_count(trace, call("order::f", "AutogradCPU"), 1)
