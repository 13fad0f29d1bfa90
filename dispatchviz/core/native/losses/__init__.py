"""Losses and their backward functions."""
