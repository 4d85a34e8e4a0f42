"""What it takes to run a talker server: deploy files for vLLM-Omni, and the strict checker of such files."""
