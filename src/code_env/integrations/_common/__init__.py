"""What several integrations share: executors, runs, scores, conversations, and what is said of misspelt arguments."""
