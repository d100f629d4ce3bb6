"""The in-memory graph at one revision, and every question a decision asks of it; pure."""
