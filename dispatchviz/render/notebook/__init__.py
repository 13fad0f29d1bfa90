"""What a notebook shows of a value: HTML that stays readable without a kernel, and where scripts and styles are taken out."""
