"""Recurrent networks: LSTM, GRU, their cells and fused kernels."""
