"""Reductions and scans: sums, variances, minima and maxima, cumulative sums, histograms."""
