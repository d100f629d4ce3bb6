"""The routes of governance: each reads a body, calls the governor, and renders what came of it."""
