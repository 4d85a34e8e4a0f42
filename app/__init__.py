"""The client: from a sentence to sound, and the truth about how long it took."""
