"""Rules for notes: what an asker wants to read of a program that has no mistake."""
