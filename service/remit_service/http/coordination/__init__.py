"""The routes of coordination: each parses, calls one method of the coordinator and renders."""
