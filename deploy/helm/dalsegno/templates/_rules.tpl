{{- define "dalsegno.rules.watched" -}}
{{- end }}
{{- define "dalsegno.rules.own" -}}
{{- end }}
{{- define "dalsegno.rules.sandbox" -}}
{{- end }}
{{- define "dalsegno.rules.cluster" -}}
{{- end }}
{{- define "dalsegno.rules.named" -}}
{{- end }}
