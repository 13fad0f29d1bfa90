"""``copy_``, ``clone``, ``to``, ``fill_``, ``item``, ``set_``, pinned memory."""
