"""Remediations of the feature gates in KubeVirt's configuration."""
