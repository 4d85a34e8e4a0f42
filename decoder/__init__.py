"""From bytes to codes to PCM: the wire, and the streaming decoder."""
