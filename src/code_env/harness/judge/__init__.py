"""The judge: trusted; it holds the tests and the expected values, and compares."""
