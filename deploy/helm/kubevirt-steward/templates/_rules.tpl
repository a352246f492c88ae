{{/* The rules: objects of files/rules, in which a placeholder stands wherever a value of them is (deploy/generator/rule_values.py). */}}

{{/* A text with the values in place of its placeholders, of dict "text" and "values". */}}
{{- define "steward.filled" -}}
{{- $text := .text -}}
{{- range $found := regexFindAll "<<[^>]*>>" .text -1 | uniq -}}
{{- $parts := regexFindAll "[a-zA-Z.]+|[+-]?[0-9.]+" (trimAll "<>" $found) -1 -}}
{{- $value := get $.values (first $parts) -}}
{{- if gt (len $parts) 1 -}}
{{- $value = addf (mulf $value (index $parts 1)) (index $parts 2) -}}
{{- if eq $value (floor $value) -}}{{- $value = int64 $value -}}{{- end -}}
{{- end -}}
{{- $text = replace $found (toString $value) $text -}}
{{- end -}}
{{- $text -}}
{{- end }}

{{/* What .Values.rules sets, by the keys of `steward rules render --set`. */}}
{{- define "steward.ruleValues" -}}
{{- $given := .Values.rules -}}
{{- $values := dict "namespace" .Release.Namespace "runbookUrl" (trimSuffix "/" $given.runbookUrl) "job" $given.job -}}
{{- $_ := set $values "hold" $given.hold -}}
{{- $_ := set $values "forget" $given.forget -}}
{{- $_ := set $values "objects" $given.objects -}}
{{- $_ := set $values "pool.warning" $given.pool.warning -}}
{{- $_ := set $values "pool.full" $given.pool.full -}}
{{- $_ := set $values "certificate.days" $given.certificateDays -}}
{{- $_ := set $values "pageUrl" (trimSuffix "/" $given.pageUrl | replace "{cluster}" "{{ or $labels.cluster $externalLabels.cluster }}") -}}
{{- toJson $values -}}
{{- end }}

{{/* The PrometheusRules of a file, as a list under "objects". Of dict "file" and "root". */}}
{{- define "steward.rules" -}}
{{- $given := .root.Values.rules -}}
{{- $values := include "steward.ruleValues" .root | fromJson -}}
{{- $known := dict -}}
{{- $once := dict -}}
{{- $made := list -}}
{{- range $object := (.root.Files.Get .file | fromJson).objects -}}
{{- range $group := $object.spec.groups -}}
{{- $rules := list -}}
{{- range $rule := $group.rules -}}
{{- $_ := set $rule "expr" (include "steward.filled" (dict "text" $rule.expr "values" $values)) -}}
{{- if $rule.alert -}}
{{- if not $given.pageUrl -}}
{{- $_ := unset $rule.annotations "page_url" -}}
{{- end -}}
{{- $_ := set $known $rule.alert true -}}
{{- range $key, $text := $rule.annotations -}}
{{- $_ := set $rule.annotations $key (include "steward.filled" (dict "text" $text "values" $values)) -}}
{{- end -}}
{{- range $key, $text := $rule.labels -}}
{{- $_ := set $rule.labels $key (include "steward.filled" (dict "text" $text "values" $values)) -}}
{{- end -}}
{{- with get $given.severities $rule.alert -}}
{{- $_ := set $rule.labels "severity" . -}}
{{- end -}}
{{- $_ := set $rule "labels" (merge $rule.labels $given.labels) -}}
{{- $_ := set $rule "annotations" (merge $rule.annotations $given.annotations) -}}
{{- end -}}
{{- $first := dict -}}
{{- if and $rule.alert (hasKey $given.severities $rule.alert) -}}
{{- $key := printf "%s %t" $rule.alert (hasKey $rule.labels "per") -}}
{{- $first = get $once $key | default dict -}}
{{- if not $first -}}{{- $_ := set $once $key $rule -}}{{- end -}}
{{- end -}}
{{- if $first -}}{{/* the severity makes it equal to this one, which then says what each of them says */}}
{{- $_ := set $first "expr" (printf "(\n%s\n)\nor (\n%s\n)" $first.expr $rule.expr) -}}
{{- range $key := list "summary" "description" -}}
{{- $one := get $first.annotations $key -}}
{{- $other := get $rule.annotations $key -}}
{{- if ne $one $other -}}{{- $_ := set $first.annotations $key (printf "%s Or: %s" $one $other) -}}{{- end -}}
{{- end -}}
{{- if ne $first.annotations.runbook_url $rule.annotations.runbook_url -}}
{{- $_ := set $first.annotations "runbook_url" (regexReplaceAll "#.*" $first.annotations.runbook_url "") -}}
{{- end -}}
{{- else if not (and $rule.alert (has $rule.alert $given.disabled)) -}}
{{- $rules = append $rules $rule -}}
{{- end -}}
{{- end -}}
{{- $_ := set $group "rules" $rules -}}
{{- end -}}
{{- $groups := list -}}
{{- range $object.spec.groups -}}{{- if .rules -}}{{- $groups = append $groups . -}}{{- end -}}{{- end -}}
{{- $_ := set $object.spec "groups" $groups -}}
{{- $made = append $made $object -}}
{{- end -}}
{{- range $name := concat $given.disabled (keys $given.severities | sortAlpha) -}}
{{- if not (hasKey $known $name) -}}
{{- fail (printf "rules.disabled or rules.severities: there is no alert %s" $name) -}}
{{- end -}}
{{- end -}}
{{- toJson (dict "objects" $made) -}}
{{- end }}
