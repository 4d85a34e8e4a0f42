"""The truth about latency: what was observed becomes numbers that say from which instant to which."""
