"""Records of a real PyTorch, which the tests of the model use.

``programs``    the programs to run: small ones by subject, and single expressions
``questions``   questions that are not programs: keys, registrations, the engine, printing
``observers``   observers of a run: its states and graphs on any torch, the dispatcher of a real one
``recorders``   one module for each record, which runs PyTorch and returns the text of the record's files
``records``     the answers, and functions to read them
``formats``     the formats of records
``record``      ``python -m truth.record``: lists records, makes one again, or checks it
``show``        ``python -m truth.show``: a record as text
``follow``      ``python -m truth.follow``: what a release changed in what we have; ``following`` has its subjects
``compare``, ``readable``   comparison of records; records as readable text

Only the recorders and the observers of a real PyTorch need torch. Only ``follow`` needs dispatchviz.
"""
