{{- define "dalsegno.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end }}
{{- define "dalsegno.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "dalsegno.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end }}
{{- define "dalsegno.account" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "dalsegno.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is needed where serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end }}
{{- define "dalsegno.selector" -}}
app.kubernetes.io/name: {{ include "dalsegno.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "dalsegno.labels" -}}
{{ include "dalsegno.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- define "dalsegno.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end }}
{{- define "dalsegno.configmap" -}}
{{- default (printf "%s-config" (include "dalsegno.fullname" .)) .Values.existingConfigMap -}}
{{- end }}
{{- /* A text as a JSON string, which is YAML too; but what YAML 1.1 takes for line breaks and JSON does not is escaped. */}}
{{- define "dalsegno.text" -}}
{{- toJson . | replace "\u0085" "\\u0085" | replace "\u2028" "\\u2028" | replace "\u2029" "\\u2029" -}}
{{- end }}
