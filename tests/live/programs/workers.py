"""Loops over a DataLoader, without and with processes of its own."""

import os

import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset


class Squares(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        return torch.tensor(float(index)) ** 2, torch.rand(1)


class Fails(Squares):
    def __getitem__(self, index):
        raise ValueError("no item")


if __name__ == "__main__":
    torch.manual_seed(5)
    main = os.getpid()
    for workers, context in ((0, None), (2, "fork"), (1, "spawn")):
        loader = DataLoader(Squares(), 2, shuffle=True, num_workers=workers, multiprocessing_context=context)
        weight = torch.ones(1, requires_grad=True)
        for squares, noise in loader:
            (squares * weight).sum().backward()
            print(workers, squares.tolist(), noise.tolist())
        print(weight.grad, os.getpid() == main)
    print([batch[0].tolist() for batch in DataLoader(TensorDataset(torch.arange(4)), 2, num_workers=1, persistent_workers=True)])
    try:
        list(DataLoader(Fails(), 2, num_workers=1, multiprocessing_context="fork"))
    except Exception as error:
        print(type(error), str(error).splitlines()[-1])
    child = os.fork()
    if not child:
        print("child", (torch.ones(2) * 3).tolist(), flush=True)
        os._exit(3)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), (torch.ones(2) * 4).tolist())
