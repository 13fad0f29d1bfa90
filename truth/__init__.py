"""Records of a real PyTorch, which the model's tests compare with.

``programs``    what is run: small programs by subject, single expressions
``questions``   queries of any torch beside programs: keys, registrations, the engine, printing
``observers``   how a run is watched: its states and graphs on any torch, the dispatcher of a real one
``recorders``   one module a record: runs PyTorch and returns the text of the record's files
``records``     the answers, and how tests read them
``formats``     how records are written down
``record``      ``python -m truth.record``: lists records, makes one again, or checks it
``show``        ``python -m truth.show``: a record as text
``compare``, ``readable``   when two records are the same; a record for people

Nothing here but the observers of a real PyTorch and the recorders needs torch, and nothing needs dispatchviz.
"""
