"""The desktop player without its window: what it decides, remembers and stores; no Qt in here."""
