// For pint 0.60: `pint --offline lint rules/*.yaml`. Series are asked for where a Prometheus is configured.

checks {
  // What an alert reads is there or it is not: a finding that is held, a storm.
  disabled = ["alerts/comparison"]
}

rule {
  match { kind = "alerting" }

  label "severity" {
    severity = "bug"
    required = true
    value    = "critical|warning|info"
  }
  label "operator_health_impact" {
    severity = "bug"
    required = true
    value    = "critical|warning|none"
  }
  label "kubernetes_operator_part_of" {
    severity = "bug"
    required = true
    value    = "kubevirt"
  }
  label "kubernetes_operator_component" {
    severity = "bug"
    required = true
    value    = "kubevirt-steward"
  }
  annotation "summary" {
    severity = "bug"
    required = true
  }
  annotation "description" {
    severity = "bug"
    required = true
  }
  annotation "runbook_url" {
    severity = "bug"
    required = true
    value    = "https://.+/{{ $alert }}[.]md(#.+)?"
  }
}

// Several clusters share a ruler. What counts clusters by what they share can't keep which one it is.
rule {
  ignore { name = "uuid:.+:shared" }

  aggregate ".+" {
    severity = "bug"
    keep     = ["cluster"]
  }
}
