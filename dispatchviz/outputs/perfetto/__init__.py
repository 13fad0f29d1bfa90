"""A trace as Perfetto and Chrome open it: slices, arrows and counters, named as ``torch.profiler`` names them."""
