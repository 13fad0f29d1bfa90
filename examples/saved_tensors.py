import torch

w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
x = torch.tensor([4.0, 5.0, 6.0])
product = w * x  # saves x for the gradient of w, but not w, because x needs no gradient
total = (product + 1).sum()
total.backward()
print(w.grad)
