{{/* "true" where the sidecar is in the exporter's pod. */}}
{{- define "steward.onePod" -}}
{{- if and .Values.reconcile.enabled .Values.reconcile.onePod -}}true{{- end -}}
{{- end }}

{{/* "true" where the sidecar is in a pod of its own. */}}
{{- define "steward.twoPods" -}}
{{- if and .Values.reconcile.enabled (not .Values.reconcile.onePod) -}}true{{- end -}}
{{- end }}

{{/* The sidecar's configuration: the file's, on OpenShift with the service CA, and the values over both. */}}
{{- define "steward.reconcileConfig" -}}
{{- $form := ternary "reconcile-one-pod/sidecar" "reconcile/pod" .Values.reconcile.onePod -}}
{{- $config := .Files.Get (printf "files/components/%s/reconcile.yaml" $form) | fromYaml -}}
{{- if .Values.openshift -}}
{{- $_ := set $config.source "serverName" (include "steward.serviceName" .) -}}
{{- $_ := set $config.source "caFile" "/var/run/secrets/kubernetes.io/serviceaccount/service-ca.crt" -}}
{{- end -}}
{{ mergeOverwrite $config .Values.reconcile.config | toYaml }}
{{- end }}

{{/* With another content it has another name, and the pod starts anew. */}}
{{- define "steward.reconcileConfigName" -}}
steward-reconcile-{{ include "steward.reconcileConfig" . | sha256sum | trunc 10 }}
{{- end }}

{{/* The sidecar's container, of dict "root" and "config", the name of the volume with its configuration. */}}
{{- define "steward.sidecar" -}}
name: reconcile
{{ include "steward.container" .root }}
args: [reconcile, run, --config, /etc/kubevirt-steward/reconcile.yaml]
ports:
  - {name: reconcile, containerPort: 9878}
startupProbe:
  httpGet: {path: /healthz, port: reconcile, scheme: HTTPS}
  periodSeconds: 2
  failureThreshold: 30
livenessProbe:
  httpGet: {path: /healthz, port: reconcile, scheme: HTTPS}
  timeoutSeconds: 5
resources: {{- toYaml .root.Values.reconcile.resources | nindent 2 }}
volumeMounts:
  - {name: {{ .config }}, mountPath: /etc/kubevirt-steward, readOnly: true}
  - {name: ledger, mountPath: /var/lib/kubevirt-steward}
  - {name: tls, mountPath: /run/kubevirt-steward/tls, readOnly: true}
{{- end }}

{{/* Its volumes, of the same dict. */}}
{{- define "steward.sidecarVolumes" -}}
- name: {{ .config }}
  configMap: {name: {{ include "steward.reconcileConfigName" .root }}}
- name: ledger
  persistentVolumeClaim: {claimName: steward-ledger}
{{- end }}
