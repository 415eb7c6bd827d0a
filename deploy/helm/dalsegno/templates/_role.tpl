{{- define "dalsegno.role" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
  labels:
    {{- include "dalsegno.labels" .root | nindent 4 }}
rules:
  {{- .rules | nindent 2 }}
{{ include "dalsegno.binding" (dict "root" .root "kind" "Role" "name" .name "namespace" .namespace) }}
{{- end }}
{{- define "dalsegno.binding" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "dalsegno.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "dalsegno.account" .root }}
    namespace: {{ .root.Release.Namespace }}
{{- end }}
