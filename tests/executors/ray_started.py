"""Starts Ray, also on a busy machine."""


def patiently(start, *args, **kwargs):
    """Start a node; Ray gives up after 30 s, which a busy machine needs now and then."""
    for _ in range(4):
        try:
            return start(*args, **kwargs)
        except Exception as error:
            if "timed out during startup" not in str(error):
                raise
    return start(*args, **kwargs)
