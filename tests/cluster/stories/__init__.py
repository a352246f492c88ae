"""The faults that runbooks are for.

A machine `db` has an interface `blue` on definition `blue` of network `tenantblue`, and the claim `db.blue`.
"""
