"""How KubeVirt, OVN-Kubernetes and their neighbours behave; pure, a folder for each area."""
