"""The plug-in for vLLM-Omni, a project of its own: see ``pyproject.toml`` and ``README.md`` beside this."""
