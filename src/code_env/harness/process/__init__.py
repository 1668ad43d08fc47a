"""For any process: its limits, its children, watching it from outside, sockets and memory files."""
