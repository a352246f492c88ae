"""Reads a cluster from files: what `kubectl get`, must-gather and `oc adm inspect` write."""
