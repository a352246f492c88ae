"""Views: what users ask for beside the findings, each with its report."""
