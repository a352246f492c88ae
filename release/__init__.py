"""What a release is made of and checked by: locks, licences, SBOM. Nothing here is installed with the product."""
