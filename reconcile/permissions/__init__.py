"""What the sidecar is allowed: roles and a ValidatingAdmissionPolicy, made from what remediations declare. Pure."""
