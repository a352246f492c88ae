"""What the sidecar sees before it plans: findings of the exporter, silences and alerts, how many VMs there are."""
