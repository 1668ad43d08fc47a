"""Code that several integrations share: executors, runs, scores, conversations, and checks for misspelt arguments."""
