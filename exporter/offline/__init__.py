"""Reads a cluster out of files: what `kubectl get`, must-gather and `oc adm inspect` write."""
