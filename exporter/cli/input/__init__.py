"""What commands are given: a cluster, dumps, a configuration, filters."""
