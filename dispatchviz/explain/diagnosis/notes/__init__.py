"""Rules for notes, which answer likely questions about a program that has no mistake."""
