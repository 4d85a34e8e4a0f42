"""A server for the Model Context Protocol on standard input and output: an assistant that speaks aloud."""
