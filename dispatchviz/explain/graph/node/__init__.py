"""One Node, whole: its members as of a step, with what each is for."""
