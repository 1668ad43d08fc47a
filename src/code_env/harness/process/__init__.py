"""For any process: what it may use, its children, what it is watched by, sockets and memory files."""
