"""What if: the language of changes, the changed program, what is offered at a step."""
