"""What the exporter knows of the repairs."""
