"""A trace for Perfetto and Chrome: slices, arrows and counters, with the names that ``torch.profiler`` uses."""
