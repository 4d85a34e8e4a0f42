"""The servers: an emulator of the real protocol, and what real talkers need."""
