"""Whether anything may be written now: gates, storms, approvals. Pure."""
