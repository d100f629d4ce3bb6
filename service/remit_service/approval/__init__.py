"""Approvals: that others looked at one exact operation on one exact version and agreed to it."""
