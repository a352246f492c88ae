"""What OpenShift admits, by its published rules: there is none here to ask."""
