{{/* What Helm puts into the cluster are the objects of files/, which are those of the kustomizations in deploy/. */}}

{{- define "steward.release" -}}
app.kubernetes.io/part-of: kubevirt-steward
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "steward.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* One object, of dict "object" and "root": with the labels of the release, and in the release's namespace. */}}
{{- define "steward.object" -}}
{{- $root := .root -}}
{{- $object := .object -}}
{{- $release := include "steward.release" $root | fromYaml -}}
{{- $_ := set $object.metadata "labels" (merge $release ($object.metadata.labels | default dict)) -}}
{{- if and (not (hasPrefix "Cluster" $object.kind)) (not .elsewhere) -}}
{{- $_ := set $object.metadata "namespace" $root.Release.Namespace -}}
{{- end -}}
{{- range $object.subjects -}}
{{- if eq (.namespace | default "") "default" -}}
{{- $_ := set . "namespace" $root.Release.Namespace -}}
{{- end -}}
{{- end }}
---
{{ toYaml $object }}
{{- end }}

{{/* All objects of a file, of dict "file" and "root". */}}
{{- define "steward.file" -}}
{{- $root := .root -}}
{{- range splitList "\n---\n" ($root.Files.Get .file) -}}
{{- include "steward.object" (dict "object" (fromYaml .) "root" $root) -}}
{{- end -}}
{{- end }}

{{/* Where Prometheus runs. */}}
{{- define "steward.prometheus" -}}
{{- if eq .Values.monitoring.kind "openshiftUser" -}}
{namespace: openshift-user-workload-monitoring, serviceAccount: prometheus-user-workload}
{{- else if .Values.openshift -}}
{namespace: openshift-monitoring, serviceAccount: prometheus-k8s}
{{- else -}}
{{ .Values.monitoring.prometheus | toJson }}
{{- end }}
{{- end }}

{{/* "true" where a Job makes the certificate: nobody else makes one that Prometheus can verify. */}}
{{- define "steward.certificateJob" -}}
{{- $given := or .Values.openshift (eq .Values.certificates "certManager") -}}
{{- if and (ne .Values.monitoring.kind "none") (not $given) -}}true{{- end -}}
{{- end }}

{{/* The names that the certificates of OpenShift's service CA have. */}}
{{- define "steward.serviceName" -}}
steward-exporter.{{ .Release.Namespace }}.svc
{{- end }}

{{- define "steward.sidecarServiceName" -}}
steward-reconcile.{{ .Release.Namespace }}.svc
{{- end }}

{{/* What all containers have in common. */}}
{{- define "steward.container" -}}
image: {{ include "steward.image" . }}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
command: [steward]
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* What the pods have in common; `ledger` is whether one writes it. Of dict "root" and "ledger". */}}
{{- define "steward.pod" -}}
automountServiceAccountToken: true
enableServiceLinks: false
terminationGracePeriodSeconds: 30
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  seccompProfile: {type: RuntimeDefault}
  {{- if not .root.Values.openshift }}
  runAsUser: 65532
  runAsGroup: 65532
  {{- if .ledger }}
  fsGroup: 65532
  {{- end }}
  {{- end }}
{{- end }}
