"""An API server in this process, over real HTTP: discovery, get, list, watch and writes, as kube-apiserver answers
them.

It knows nothing of the product: whoever reads it does so through HTTP, as with a real cluster.
"""
