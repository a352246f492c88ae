"""What the blocks of runbooks that take effect have in them, by which stories name those that they run."""

from __future__ import annotations

DELETE, RELEASE, STATUS, FILL = "kubectl delete --raw", '"op": "remove"', "--subresource=status", "kubectl create -f -"
TOUCH_POD, TOUCH_VM, TOUCH_VMI = "annotate pods", "annotate virtualmachines.", "annotate virtualmachineinstances."
PROTECT, LABEL = '"/metadata/finalizers", "value"', "label ipamclaims"
OWN, DISOWN = '"/metadata/ownerReferences"', '"/metadata/ownerReferences/0"'
MAKE_NETWORK, MAKE_NAD = "kubectl create -f network", "kubectl create -f nad"
MAKE, SAVE_VM, SAVE, REPLACE = "kubectl create -f NAD", "> VMNAME.yaml", "> NAME.yaml", "kubectl replace"
SELECT, SCALE, RESTART = "label namespaces", "kubectl scale", "rollout restart"
EXCHANGE, EDIT = (DELETE, RELEASE), (SAVE, REPLACE)
SET_UUID = '"replace", "path": "/spec/template/spec/domain/firmware/uuid"'
ADD_UUID = '"add", "path": "/spec/template/spec/domain/firmware/uuid"'
ADD_FIRMWARE = '"path": "/spec/template/spec/domain/firmware", "value": {"uuid"'
PUT_BACK = '"path": "/spec/template/spec/domain/firmware", "value": $FIRMWARE'
SET_SERIAL = '"replace", "path": "/spec/template/spec/domain/firmware/serial"'
SET_MAC = '"replace", "path": "/spec/template/spec/domain/devices/interfaces/'
OF_POOL, OF_REPLICA_SET = "patch virtualmachinepools", "patch virtualmachineinstancereplicasets"
DELETE_PDB, DELETE_LEFT_PDB = "poddisruptionbudgets/$PDB", "poddisruptionbudgets/$NAME"
MIGRATE, UNTAINT, UNCORDON = "generateName: by-hand-", "kubectl taint", "kubectl uncordon"
FORGET_STOP, PUT_BACK_STRATEGY = "stopped-for-drain-", '"path": "/spec/runStrategy", "value": "Halted"'
