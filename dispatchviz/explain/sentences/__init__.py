"""What each step does and why, in sentences with the facts that they state."""
