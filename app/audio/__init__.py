"""Where the samples go: sound devices, nothing, or a file."""
