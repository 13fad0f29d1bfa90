"""Tests of screens in browsers: the gate, the limits of a session, its end."""
