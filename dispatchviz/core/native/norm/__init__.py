"""Normalization: batch, instance, layer, group and weight norm."""
