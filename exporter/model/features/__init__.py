"""What an installation of KubeVirt allows: its feature gates, its settings, and what VMs ask of them."""
