import numpy
import torch

torch.from_numpy(numpy.array(["a", "b"]))
