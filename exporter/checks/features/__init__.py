"""Checks of KubeVirt's configuration against what VMs ask for."""
