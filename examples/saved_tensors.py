import torch

w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
x = torch.tensor([4.0, 5.0, 6.0])
product = w * x  # keeps x for the gradient of w; w is not kept, for x asks for none
total = (product + 1).sum()
total.backward()
print(w.grad)
