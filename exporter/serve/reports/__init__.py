"""What one viewer may see of the findings, as it is listed; kept as long as it is current."""
