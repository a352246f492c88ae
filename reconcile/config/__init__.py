"""The sidecar's configuration."""
