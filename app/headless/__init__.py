"""Front ends without a window: one sentence, a pipe, or a kiosk."""
