import torch

x = torch.tensor([[1e-4]])
w = torch.tensor([[1.0]], requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
scaler = torch.amp.GradScaler("cpu")
with torch.autocast("cpu", dtype=torch.float16):
    y = torch.mm(x, w)
loss = y.float().sum() * 1e-5
scaler.scale(loss).backward()
scaler.unscale_(optimizer)
scaler.step(optimizer)
scaler.update()
