{{- /* The pod of a pass and of the daemon: the same but for its command. */}}
{{- define "dalsegno.pod.metadata" -}}
labels:
  {{- include "dalsegno.selector" . | nindent 2 }}
  {{- with .Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  checksum/config: {{ printf "%s%s" (toJson .Values.configuration) (toJson .Values.runbooks) | sha256sum }}
  {{- with .Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- define "dalsegno.pod.spec" -}}
serviceAccountName: {{ include "dalsegno.account" . }}
automountServiceAccountToken: true
enableServiceLinks: false
terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .Values.securityContext.runAsUser }}
  runAsGroup: {{ .Values.securityContext.runAsGroup }}
  fsGroup: {{ .Values.securityContext.fsGroup }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: config
    configMap:
      name: {{ include "dalsegno.configmap" . }}
  {{- if .Values.runbooks }}
  - name: runbooks
    configMap:
      name: {{ include "dalsegno.fullname" . }}-runbooks
  {{- end }}
  {{- range .Values.secretFiles }}
  - name: secret-{{ .name }}
    secret:
      secretName: {{ .secret }}
      defaultMode: 288 # 0440: octal numbers are read differently by YAML 1.1 and 1.2
  {{- end }}
  - name: state
    {{- if eq .Values.ledger.home "volume" }}
    persistentVolumeClaim:
      claimName: {{ default (printf "%s-ledger" (include "dalsegno.fullname" .)) .Values.ledger.volume.existingClaim }}
    {{- else }}
    emptyDir: {{ toJson .Values.scratch.state }}
    {{- end }}
  - name: tmp
    emptyDir: {{ toJson .Values.scratch.tmp }}
{{- end }}
{{- define "dalsegno.container" -}}
name: dalsegno
image: {{ include "dalsegno.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  capabilities: {drop: ["ALL"]}
  seccompProfile: {type: RuntimeDefault}
env:
  - {name: DALSEGNO_CONFIG, value: /etc/dalsegno}
  - {name: DALSEGNO__STATE__FOLDER, value: /var/lib/dalsegno}
  - {name: DALSEGNO__PASS__MODE, value: {{ .Values.mode }}}
  - {name: DALSEGNO__LEDGER__HOME, value: {{ .Values.ledger.home }}}
  - {name: TMPDIR, value: /tmp}
  - name: POD_NAMESPACE
    valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
  {{- range .Values.env }}
  - name: {{ .name }}
    valueFrom: {secretKeyRef: {name: {{ .secret }}, key: {{ .key | quote }}{{ if .optional }}, optional: true{{ end }}}}
  {{- end }}
volumeMounts:
  - {name: config, mountPath: /etc/dalsegno, readOnly: true}
  {{- if .Values.runbooks }}
  - {name: runbooks, mountPath: /etc/dalsegno-runbooks, readOnly: true}
  {{- end }}
  {{- range .Values.secretFiles }}
  - {name: secret-{{ .name }}, mountPath: /etc/dalsegno-secrets/{{ .name }}, readOnly: true}
  {{- end }}
  - {name: state, mountPath: /var/lib/dalsegno}
  - {name: tmp, mountPath: /tmp}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
{{- end }}
