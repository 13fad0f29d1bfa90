"""Tests of what-if: the language of changes, the changed program, the changes offered at a step."""
