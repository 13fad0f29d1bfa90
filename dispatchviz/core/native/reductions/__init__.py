"""Reductions and scans: sums, variances, extreme values, running sums, histograms."""
