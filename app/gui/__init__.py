"""The window: the only place that knows Qt. Widgets render values and emit intents."""
