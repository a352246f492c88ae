"""What the commands of `steward reconcile` are called with, one module each that defines `add(subparsers)`."""
