"""Tests of the claims that sentences make about PyTorch, against a real PyTorch."""
