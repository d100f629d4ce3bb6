"""The routes of what is given out for one request: capabilities, approvals."""
