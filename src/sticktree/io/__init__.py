"""Files: archives, the objects that they hold, and checkpoints of runs.

Nothing is pickled, so that reading a file from somebody else runs none of their code.
"""
