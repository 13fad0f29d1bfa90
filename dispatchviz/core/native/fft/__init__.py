"""``torch.fft``, ``stft``, ``istft``, window functions."""
