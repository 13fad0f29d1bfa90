"""Copies, pickles and lifetimes of tensors: nothing is left on them, and nothing holds them."""

import copy
import gc
import io
import pickle
import sys
import weakref

import torch

x = torch.arange(3.0, requires_grad=True)
x.note = "mine"
y = x.detach() * 2
for t in (x, y):
    print(vars(t), sys.getrefcount(t), gc.get_referrers(t) is not None, dir(t) == dir(torch.Tensor(1)) or len(dir(t)))
    c = copy.deepcopy(t)
    print(c, vars(c), c.requires_grad, pickle.loads(pickle.dumps(t)), len(pickle.dumps(vars(t))))
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
torch.nn.init.eye_(net[0].weight), torch.nn.init.zeros_(net[0].bias)
buffer = io.BytesIO()
torch.save(net.state_dict(), buffer)
print(len(buffer.getvalue()), torch.load(io.BytesIO(buffer.getvalue())))
buffer = io.BytesIO()
torch.save({"x": x, "y": y, "views": [y[0], y[1:]]}, buffer)
print(len(buffer.getvalue()), torch.load(buffer if buffer.seek(0) is None else io.BytesIO(buffer.getvalue())))
print(copy.deepcopy(net), [vars(p) for p in copy.copy(net).parameters()], list(vars(net)))
try:
    copy.deepcopy(x * 2)
except Exception as error:
    print(type(error), error)


def gone(what):
    return lambda ref: print(what, "is gone")


a = torch.ones(3)
refs = [weakref.ref(a, gone("a"))]
del a
print("after a")
b = torch.ones(3, requires_grad=True)
c = b * 2
d = c.sum()
refs += [weakref.ref(c, gone("c")), weakref.ref(d, gone("d")), weakref.ref(b, gone("b"))]
del c
print("after c")
d.backward()
print("after backward")
del d
print("after d")
del b
print("after b")


def inner():
    e = torch.ones(2).exp()
    refs.append(weakref.ref(e, gone("e")))
    refs.append(weakref.ref(e.untyped_storage(), gone("storage")))
    return e + 1


f = inner()
print("after inner", f.tolist())
loop = [torch.ones(1)]
loop.append(loop)
refs.append(weakref.ref(loop[0], gone("in a loop")))
del loop
print("before collection")
gc.collect()
print("after collection")
g = torch.ones(2, requires_grad=True)
h = g.exp()
refs.append(weakref.ref(h, gone("h")))
h = h.sum()
print("h again")
del h
print("end", sum(isinstance(o, torch.Tensor) for o in gc.get_objects()) >= 0)
w = torch.nn.Parameter(torch.ones(2))
(w * 2).sum().backward()
grad = w.grad
print(sys.getrefcount(grad), sys.getrefcount(w), w.untyped_storage().nbytes())
w.grad = None
k = torch.ones(2)
numpy = k.numpy()
numpy += 1
print(
    k, torch.from_numpy(numpy).data_ptr() == k.data_ptr(), torch.utils.dlpack.from_dlpack(k), k.tolist(), bool(k.any())
)


class Loud:
    def __del__(self):
        print("loud is gone", torch.ones(1).tolist())


k.loud = Loud()
del k, numpy
print("end of the program")
