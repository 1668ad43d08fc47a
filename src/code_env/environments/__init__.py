"""An environment is a folder: what is in it, and how a new one is made."""
