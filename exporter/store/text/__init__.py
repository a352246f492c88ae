"""How texts of Kubernetes are read and written: quantities, names, JSON. Pure."""
