"""The local HTTP API: one aiohttp server in the kiosk's event loop, in front of the desk."""
