"""Live sessions of the `local` executor: the trainer's side. `jail/session_worker.py` is the other."""
