import torch

kept = []
torch.vmap(lambda x: kept.append(x) or x)(torch.ones(3))
print(kept[0] + 1)  # outside the vmap
