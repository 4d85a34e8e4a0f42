"""From frames to the samples a device asks for: chunk policy, decode thread, ring, PCM source."""
