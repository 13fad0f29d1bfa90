"""Programs that ``make gpu`` runs on the GPU and with emulated CUDA: both runs must record the same events."""
