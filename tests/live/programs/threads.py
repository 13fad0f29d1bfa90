"""Threads that run operators and backwards of their own, with states of their own."""

import threading

import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
results = {}


def work(name, scale):
    print(name, torch.is_grad_enabled(), torch.get_num_threads())
    with torch.no_grad() if name == "b" else torch.enable_grad():
        y = (x * scale).exp()
    z = (x * scale).sum()
    z.backward()
    results[name] = y.tolist(), y.grad_fn and y.grad_fn.name(), z.grad_fn._sequence_nr()


with torch.no_grad():
    for name, scale in (("a", 1.0), ("b", 2.0)):
        thread = threading.Thread(target=work, args=(name, scale))
        thread.start()
        thread.join()
print(results, x.grad)
barrier = threading.Barrier(2)
gradients = []


def together(scale):
    w = torch.full((3,), scale, requires_grad=True)
    barrier.wait()
    for _ in range(20):
        (w * w).sum().backward()
    gradients.append((scale, w.grad.tolist(), (w * 1).grad_fn._sequence_nr()))


threads = [threading.Thread(target=together, args=(float(i),)) for i in (1, 2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(gradients), threading.active_count(), [t.name for t in threading.enumerate()])


def fails():
    torch.ones(2) + torch.ones(3)


thread = threading.Thread(target=fails, name="failing")
thread.start()
thread.join()
futures = torch.jit.fork(lambda v: v * 2, torch.ones(2))
print(torch.jit.wait(futures))
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(2) as pool:
    print(list(pool.map(lambda i: (torch.ones(2) * i).sum().item(), range(6))))
