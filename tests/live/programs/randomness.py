"""Random numbers, which are the same ones."""

import torch

torch.manual_seed(11)
print(torch.rand(2), torch.randn(2), torch.randperm(4), torch.bernoulli(torch.full((4,), 0.5)), torch.initial_seed())
generator = torch.Generator().manual_seed(3)
print(
    torch.rand(2, generator=generator), torch.empty(2).normal_(generator=generator), torch.multinomial(torch.ones(4), 2)
)
print(torch.nn.functional.dropout(torch.ones(6)), torch.nn.functional.dropout(torch.ones(6), training=False))
state = torch.get_rng_state()
a = torch.rand(2)
torch.set_rng_state(state)
print(a.tolist() == torch.rand(2).tolist(), torch.rand(1).item().hex())
with torch.random.fork_rng():
    print(torch.rand(1))
print(
    torch.rand(1), torch.distributions.Normal(0.0, 1.0).sample((2,)), torch.nn.init.kaiming_uniform_(torch.empty(2, 2))
)
print(
    torch.nn.functional.gumbel_softmax(torch.zeros(3)), torch.randint(0, 9, (3,)), torch.rand_like(a), a.exponential_()
)
torch.use_deterministic_algorithms(True)
print(torch.zeros(3).index_add_(0, torch.tensor([1, 1]), torch.ones(2)))
torch.set_default_dtype(torch.float64)
print(torch.ones(1) / 3, torch.tensor(1.5).dtype, torch.ones(1, dtype=torch.float32) * 1.1)
