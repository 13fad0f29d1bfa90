"""Tests of labels, sentences, rules, cards and locations."""
