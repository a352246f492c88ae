"""What VMs are sized and tuned by: instancetypes, preferences, and the revisions that back them."""
