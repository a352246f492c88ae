"""What a running VM's objects have beside what anybody reads of them: most of their bytes."""

from __future__ import annotations

import json
from typing import Any

from demo.apiserver.resources import Obj

__all__ = ["furnish", "furnish_vm", "furnish_vmi"]

_FOLDERS = ("private", "public", "ephemeral-disks", "container-disks", "libvirt-runtime", "sockets", "hotplug-disks")
_DIGEST = "sha256:3f0c4a0f7f5d1c2b9a8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c5b4a3928"


def furnish(pod: Obj, vm: str, vmi_uid: str) -> None:
    """Gives a launcher pod the arguments, volumes, tolerations and statuses that virt-controller and the kubelet do."""
    meta, spec, status = pod["metadata"], pod["spec"], pod["status"]
    meta["generateName"] = f"virt-launcher-{vm}-"
    meta["annotations"] |= _notes(vm, meta["namespace"])
    (compute,) = spec["containers"]
    compute |= _compute(vm, vmi_uid, meta["namespace"])
    compute["resources"]["requests"] |= _DEVICES | {"ephemeral-storage": "50M"}
    compute["resources"]["limits"] = dict(_DEVICES)
    spec["initContainers"] = [_console(compute["image"], vmi_uid)]
    spec |= _PLACED
    spec["hostname"] = vm
    spec["volumes"] = [{"name": name, "emptyDir": {}} for name in _FOLDERS]
    spec["volumes"].append({"name": "root", "persistentVolumeClaim": {"claimName": f"{vm}-root"}})
    ran, since = {"running": {"startedAt": status["startTime"]}}, status["startTime"]
    status["conditions"] += [
        _condition(name, since) for name in ("Initialized", "ContainersReady", "PodReadyToStartContainers")
    ]
    unpaused = {"reason": "NotPaused", "message": "the virtual machine is not paused", "lastProbeTime": since}
    status["conditions"].append(_condition("kubevirt.io/virtual-machine-unpaused", since) | unpaused)
    status["containerStatuses"] = [_ran("compute", compute["image"], vmi_uid, ran)]
    status["initContainerStatuses"] = [_ran("guest-console-log", compute["image"], vmi_uid[::-1], ran)]
    status["hostIPs"] = [{"ip": status["hostIP"]}]


def furnish_vm(vm: Obj) -> None:
    """Gives a VM a disk for cloud-init, and the annotation of `kubectl apply`."""
    _initialised(vm["spec"]["template"]["spec"])
    applied = {key: vm[key] for key in ("apiVersion", "kind", "spec")}
    text = json.dumps(applied, separators=(",", ":"))
    vm["metadata"].setdefault("annotations", {})["kubectl.kubernetes.io/last-applied-configuration"] = text


def furnish_vmi(vmi: Obj) -> None:
    """Gives a VMI the same disk, and what virt-handler and the guest agent report."""
    _initialised(vmi["spec"])
    size = {"guestAtBoot": "2Gi", "guestCurrent": "2Gi", "guestRequested": "2Gi", "memoryOverhead": "272Mi"}
    vmi["status"] |= {
        "currentCPUTopology": {"cores": 2, "sockets": 1, "threads": 1},
        "guestOSInfo": {
            "id": "fedora",
            "name": "Fedora Linux",
            "version": "42",
            "kernelRelease": "6.14.0-63.fc42.x86_64",
        },
        "machine": {"type": "pc-q35-rhel9.6.0"},
        "memory": size,
        "runtimeUser": 107,
        "selinuxContext": "system_u:object_r:container_file_t:s0:c107,c911",
    }


def _initialised(spec: Obj) -> None:
    spec["domain"]["devices"]["disks"].append({"name": "init", "disk": {"bus": "virtio"}})
    spec["volumes"].append({"name": "init", "cloudInitNoCloud": {"userData": _USER_DATA}})


_USER_DATA = """#cloud-config
user: operator
ssh_authorized_keys:
  - ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExampleExampleExampleExampleExampleExample0 operator@example.org
packages: [qemu-guest-agent, chrony]
write_files:
  - path: /etc/chrony.d/site.conf
    content: |
      server ntp1.example.org iburst
      server ntp2.example.org iburst
runcmd:
  - [systemctl, enable, --now, qemu-guest-agent]
"""
_DEVICES = {f"devices.kubevirt.io/{name}": "1" for name in ("kvm", "tun", "vhost-net")}
_LOCKED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True, "runAsUser": 107}
_PLACED: Obj = {
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {"key": "node-labeller.kubevirt.io/obsolete-host-model", "operator": "DoesNotExist"}
                        ]
                    }
                ]
            }
        }
    },
    "nodeSelector": {"kubernetes.io/arch": "amd64", "kubevirt.io/schedulable": "true"},
    "tolerations": [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in ("not-ready", "unreachable")
    ],
    "automountServiceAccountToken": False,
    "enableServiceLinks": False,
    "dnsPolicy": "ClusterFirst",
    "preemptionPolicy": "PreemptLowerPriority",
    "priority": 0,
    "schedulerName": "default-scheduler",
    "serviceAccount": "default",
    "serviceAccountName": "default",
    "securityContext": {"fsGroup": 107, "runAsGroup": 107, "runAsNonRoot": True, "runAsUser": 107},
    "terminationGracePeriodSeconds": 210,
}


def _notes(vm: str, namespace: str) -> dict[str, str]:
    def command(what: str) -> str:
        return json.dumps(["/usr/bin/virt-freezer", f"--{what}", "--name", vm, "--namespace", namespace])

    return {
        "descheduler.alpha.kubernetes.io/request-evict-only": "",
        "kubectl.kubernetes.io/default-container": "compute",
        "kubevirt.io/migrationTransportUnix": "true",
        "kubevirt.io/memory-overhead-bytes": "285212672",
        "post.hook.backup.velero.io/command": command("unfreeze"),
        "post.hook.backup.velero.io/container": "compute",
        "pre.hook.backup.velero.io/command": command("freeze"),
        "pre.hook.backup.velero.io/container": "compute",
        "pre.hook.backup.velero.io/timeout": "60s",
    }


def _compute(vm: str, vmi_uid: str, namespace: str) -> Obj:
    flags = {
        "qemu-timeout": "287s",
        "name": vm,
        "uid": vmi_uid,
        "namespace": namespace,
        "kubevirt-share-dir": "/var/run/kubevirt",
        "ephemeral-disk-dir": "/var/run/kubevirt-ephemeral-disks",
        "container-disk-dir": "/var/run/kubevirt/container-disks",
        "grace-period-seconds": "195",
        "hook-sidecars": "0",
        "ovmf-path": "/usr/share/OVMF",
        "disk-memory-limit": "2097152000",
    }
    folders = {"XDG_CACHE_HOME": "/var/run/kubevirt-private", "XDG_CONFIG_HOME": "/var/run/kubevirt-private"}
    env: list[Obj] = [{"name": name, "value": value} for name, value in folders.items()]
    env.append({"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}})
    return {
        "command": ["/usr/bin/virt-launcher-monitor"],
        "args": [part for name, value in flags.items() for part in (f"--{name}", value)] + ["--run-as-nonroot"],
        "env": env,
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {**_LOCKED, "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]}},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeDevices": [{"name": "root", "devicePath": "/dev/root"}],
        "volumeMounts": [{"name": name, "mountPath": f"/var/run/kubevirt-{name}"} for name in _FOLDERS],
    }


def _console(image: str, vmi_uid: str) -> Obj:
    return {
        "name": "guest-console-log",
        "image": image,
        "command": ["/usr/bin/virt-tail"],
        "args": ["--logfile", f"/var/run/kubevirt-private/{vmi_uid}/virt-serial0-log"],
        "imagePullPolicy": "IfNotPresent",
        "resources": {"limits": {"cpu": "15m", "memory": "60M"}, "requests": {"cpu": "5m", "memory": "35M"}},
        "restartPolicy": "Always",
        "securityContext": _LOCKED,
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [{"name": "private", "mountPath": "/var/run/kubevirt-private", "readOnly": True}],
    }


def _condition(name: str, since: str) -> Obj:
    return {"type": name, "status": "True", "lastProbeTime": None, "lastTransitionTime": since}


def _ran(name: str, image: str, container: str, state: Obj) -> Any:
    return {
        "name": name,
        "containerID": f"cri-o://{container.replace('-', '') * 2}",
        "image": image,
        "imageID": f"{image.partition(':')[0]}@{_DIGEST}",
        "lastState": {},
        "ready": True,
        "restartCount": 0,
        "started": True,
        "state": state,
    }
