"""Random numbers: generators, distributions, and tensors filled from them."""
