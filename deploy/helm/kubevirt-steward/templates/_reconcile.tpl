{{/* The sidecar's configuration: the file's, on OpenShift with the service CA, and the values over both. */}}
{{- define "steward.reconcileConfig" -}}
{{- $config := .Files.Get "files/components/reconcile/sidecar/reconcile.yaml" | fromYaml -}}
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
