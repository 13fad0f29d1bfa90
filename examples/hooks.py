import torch

# Four kinds of hooks around one Node, and a hook of a leaf. In `grad(total, y)` the product's Node runs but computes
# nothing for x. In `grad(total, z)` it does not run at all.

x = torch.ones(2, requires_grad=True)
y = torch.full((2,), 3.0, requires_grad=True)


def says(what):
    return lambda *gradients: print(what)


z = x * y
z.register_hook(says("tensor pre-hook"))
z.retain_grad()
z.grad_fn.register_prehook(says("pre-hook"))
z.grad_fn.register_hook(says("post-hook"))
x.register_post_accumulate_grad_hook(says("x has its gradient"))

total = z.sum()
total.backward(retain_graph=True)
print(x.grad, z.grad)

(only_y,) = torch.autograd.grad(total, y, retain_graph=True)
print(only_y)

print("asked for z itself, its Node does not run, its tensor pre-hook does:")
torch.autograd.grad(total, z)
