"""Repairs interleaved with all that acts on the same objects: a cluster in memory, one atomic API call at a time.

An interleaving is about one area: IPAMClaims (`scenarios`, `claims`), firmware (`firmware`, `identity`), or
instancetypes (`instancetypes`, `copies`). In each VMs are saved and restored (`saving`), others write what looks like
ours (`strangers`), clocks are wrong (`clocks`), writes arrive late (`writer`) and are taken back (`undoing`, `undone`).

Ways into danger that it lacks:

- evictions, drains and what is stopped for them, migrations that the sidecar asks for, PDBs, feature gates;
- preferences, pools, namespaced instancetypes, and KubeVirt's own upgrades of copies;
- a Lease, and so a leader that is deposed while its write is under way: each sidecar writes as if it were alone;
- API servers whose clocks differ among each other, or that answer by an older state than they have;
- who may write everything: strangers here write one kind, in a namespace of their own or in that of the VM;
- writes of others that arrive late: only the sidecar's do;
- the gates that only hold something up, and the pause of a VM where the plan is about another object;
- NADs and webhooks that change, and annotations that can't be read.
"""
