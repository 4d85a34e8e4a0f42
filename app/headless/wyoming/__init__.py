"""Text-to-speech over the Wyoming protocol, for Home Assistant: the sound is sent to who asks, not played."""
