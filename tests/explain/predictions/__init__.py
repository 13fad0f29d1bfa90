"""Questions about a trace: the right choice is what happened, and the wrong ones are not."""
