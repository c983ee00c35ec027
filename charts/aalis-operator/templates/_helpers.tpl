{{- define "aalis.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "aalis.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "aalis.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "aalis.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "aalis.serviceAccountName" -}}
{{- default (include "aalis.fullname" .) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "aalis.selectorLabels" -}}
app.kubernetes.io/name: {{ include "aalis.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "aalis.labels" -}}
{{ include "aalis.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: operator
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* The rules of one scope: cluster for the resources that are in no namespace, namespace for the others, all. */ -}}
{{- define "aalis.rules" -}}
{{- $clusterScoped := list "namespaces" "nodes" "persistentvolumes" "priorityclasses" "storageclasses" -}}
{{- $scope := .scope -}}
{{- $out := list -}}
{{- range $rule := .rules -}}
{{- $keep := list -}}
{{- range $resource := $rule.resources -}}
{{- if or (eq $scope "all") (eq (eq $scope "cluster") (has $resource $clusterScoped)) -}}
{{- $keep = append $keep $resource -}}
{{- end -}}
{{- end -}}
{{- if $keep -}}
{{- $out = append $out (set (omit $rule "resources") "resources" $keep) -}}
{{- end -}}
{{- end -}}
{{- toYaml $out -}}
{{- end -}}

{{- /* What the schema cannot tell: values that contradict each other. */ -}}
{{- define "aalis.check" -}}
{{- if and (gt (int .Values.replicas) 1) (not .Values.leaderElection.enabled) -}}
{{- fail (printf "leaderElection.enabled: must be true with replicas %d, for only one operator may work" (int .Values.replicas)) -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.enabled) -}}
{{- fail "metrics.serviceMonitor.enabled: must be false while metrics.enabled is false" -}}
{{- end -}}
{{- if and .Values.metrics.prometheusRule.enabled (not .Values.metrics.enabled) -}}
{{- fail "metrics.prometheusRule.enabled: must be false while metrics.enabled is false" -}}
{{- end -}}
{{- end -}}
