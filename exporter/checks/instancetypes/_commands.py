"""Commands that findings on instancetypes, preferences and their revisions share; each stands in their runbooks."""

from __future__ import annotations

from ...store.kinds.instancetypes import INSTANCETYPES

RESOURCES = {kind.name: kind.resource for kind in (*INSTANCETYPES,)}

READ_REFERENCE = (
    'kubectl get virtualmachines.kubevirt.io -n NAMESPACE VMNAME -o jsonpath=\'{.spec.instancetype}{"\\n"}'
    '{.spec.preference}{"\\n"}{.status.instancetypeRef}{"\\n"}{.status.preferenceRef}{"\\n"}'
    '{.status.conditions[?(@.type=="Failure")]}{"\\n"}\''
)
READ_OBJECT = "kubectl get RESOURCE -n NAMESPACE OBJECT -o yaml"
READ_REVISION = "kubectl get controllerrevisions.apps -n NAMESPACE REVISION -o yaml"
ALL_REVISIONS = "kubectl get controllerrevisions.apps -n NAMESPACE -L instancetype.kubevirt.io/object-name"
COPIES = (
    "kubectl get controllerrevisions.apps -A -l instancetype.kubevirt.io/object-name=OBJECT "
    "-L instancetype.kubevirt.io/object-kind -L instancetype.kubevirt.io/object-version "
    "-L instancetype.kubevirt.io/object-uid -L instancetype.kubevirt.io/object-generation"
)
TOUCH = (
    "kubectl annotate virtualmachines.kubevirt.io -n NAMESPACE VMNAME "
    'steward.kubevirt-steward.io/nudged-at="$(date +%s)" --overwrite'
)
# Of a pin nobody but the VM's owner needs the value: a test of it is enough for both, and the second is refused where
# the status names another ControllerRevision or none, as up to KubeVirt 1.4.
CLEAR_PIN = (
    "kubectl patch virtualmachines.kubevirt.io -n NAMESPACE VMNAME --type=json -p "
    '\'[{"op": "test", "path": "/spec/ROLE/revisionName", "value": "REVISION"}, '
    '{"op": "remove", "path": "/spec/ROLE/revisionName"}]\''
)
CLEAR_REFERENCE = (
    "kubectl patch virtualmachines.kubevirt.io -n NAMESPACE VMNAME --subresource=status --type=json -p "
    '\'[{"op": "test", "path": "/status/REFERENCE/controllerRevisionRef/name", "value": "REVISION"}, '
    '{"op": "remove", "path": "/status/REFERENCE/controllerRevisionRef"}]\''
)
LIST_USERS = (
    "kubectl get virtualmachines.kubevirt.io -A -o custom-columns='NS:.metadata.namespace,VM:.metadata.name,"
    "INSTANCETYPE:.spec.instancetype.name,PREFERENCE:.spec.preference.name,"
    "COPY:.status.instancetypeRef.controllerRevisionRef.name,"
    "PREFERENCECOPY:.status.preferenceRef.controllerRevisionRef.name' | grep -F -w -e NS -e 'NAME'"
)
READ_POLICY = (
    "kubectl get kubevirts.kubevirt.io -A -o jsonpath='{.items[*].spec.configuration.instancetype.referencePolicy}'"
)
