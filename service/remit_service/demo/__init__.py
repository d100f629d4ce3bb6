"""The demo: the story this system exists for, played over HTTP, each verdict asserted."""
