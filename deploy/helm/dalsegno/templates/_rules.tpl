{{- /*
Made from the rules in the program: dalsegno config rbac --format helm. Change the rules there; a test compares this file with them.
Each template is given the root context; `dalsegno.rules.named` is given feature and names.
*/}}
{{- define "dalsegno.rules.watched" -}}
{{- if has "cnpg" .Values.rbac.features }}
# cnpg: Clusters, their schedules and their backups; without it nothing is watched
- apiGroups: ["postgresql.cnpg.io"]
  resources: ["clusters", "scheduledbackups", "backups"]
  verbs: ["list"]
{{- end }}
{{- if has "cnpg" .Values.rbac.features }}
# cnpg: where the barman-cloud plugin archives to
- apiGroups: ["barmancloud.cnpg.io"]
  resources: ["objectstores"]
  verbs: ["list"]
{{- end }}
{{- if has "cnpg" .Values.rbac.features }}
# cnpg: whether the archiver's sidecar runs, how large volumes are, why a backup waits
- apiGroups: [""]
  resources: ["pods", "persistentvolumeclaims", "events"]
  verbs: ["list"]
{{- end }}
{{- if has "cnpg" .Values.rbac.features }}
# cnpg: restores that fail again and again
- apiGroups: ["batch"]
  resources: ["jobs"]
  verbs: ["list"]
{{- end }}
{{- if has "cnpg" .Values.rbac.features }}
# cnpg: whether a snapshot that a Cluster bootstraps from is still there; asked only where one is named
- apiGroups: ["snapshot.storage.k8s.io"]
  resources: ["volumesnapshots"]
  verbs: ["list"]
{{- end }}
{{- if has "cnpg" .Values.rbac.features }}
# cnpg: what the site's own alert rules watch
- apiGroups: ["monitoring.coreos.com"]
  resources: ["prometheusrules"]
  verbs: ["list"]
{{- end }}
{{- if has "cnpg.exporter" .Values.rbac.features }}
# cnpg.exporter: metrics of each primary; not needed where Prometheus is asked. It reaches every port of every pod there
- apiGroups: [""]
  resources: ["pods/proxy"]
  verbs: ["get"]
{{- end }}
{{- if has "cnpg.logs" .Values.rbac.features }}
# cnpg.logs: the error lines of pods in trouble
- apiGroups: [""]
  resources: ["pods/log"]
  verbs: ["get"]
{{- end }}
{{- if has "kube-events" .Values.rbac.features }}
# kube-events: Events on the Clusters that findings are about; without it whoever says kubectl describe sees nothing of them
- apiGroups: ["events.k8s.io"]
  resources: ["events"]
  verbs: ["create", "get", "patch"]
{{- end }}
{{- end }}
{{- define "dalsegno.rules.own" -}}
{{- end }}
{{- define "dalsegno.rules.sandbox" -}}
{{- end }}
{{- define "dalsegno.rules.cluster" -}}
{{- if has "cnpg" .Values.rbac.features }}
# cnpg: whether a full volume can be enlarged
- apiGroups: ["storage.k8s.io"]
  resources: ["storageclasses"]
  verbs: ["list"]
{{- end }}
{{- if has "cnpg.kubelet" .Values.rbac.features }}
# cnpg.kubelet: free space of volumes; it also lets its holder run commands in pods, so it is off unless written
- apiGroups: [""]
  resources: ["nodes/proxy"]
  verbs: ["get"]
{{- end }}
{{- if has "drill" .Values.rbac.features }}
# drill: each drill makes a namespace and takes it away; only those with our label are touched
- apiGroups: [""]
  resources: ["namespaces"]
  verbs: ["create", "get", "list", "delete"]
{{- end }}
{{- if has "drill" .Values.rbac.features }}
# drill: the namespace is closed as far as the network enforces it
- apiGroups: ["networking.k8s.io"]
  resources: ["networkpolicies"]
  verbs: ["create"]
{{- end }}
{{- if has "drill" .Values.rbac.features }}
# drill: our read-only key and a superuser's password for the operator; none is ever read
- apiGroups: [""]
  resources: ["secrets"]
  verbs: ["create"]
{{- end }}
{{- if has "drill" .Values.rbac.features }}
# drill: where the plugin restores from
- apiGroups: ["barmancloud.cnpg.io"]
  resources: ["objectstores"]
  verbs: ["create"]
{{- end }}
{{- if has "drill" .Values.rbac.features }}
# drill: the recovered Cluster; the source's image, sizes and settings are read
- apiGroups: ["postgresql.cnpg.io"]
  resources: ["clusters"]
  verbs: ["create", "get", "delete"]
{{- end }}
{{- if has "drill" .Values.rbac.features }}
# drill: how the operator's recovery goes
- apiGroups: ["batch"]
  resources: ["jobs"]
  verbs: ["get"]
{{- end }}
{{- if has "drill" .Values.rbac.features }}
# drill: which pods of a failed recovery to ask for their words
- apiGroups: [""]
  resources: ["pods"]
  verbs: ["list"]
{{- end }}
{{- if has "drill" .Values.rbac.features }}
# drill: what a failed recovery said: without it a drill cannot tell whose fault it was
- apiGroups: [""]
  resources: ["pods/log"]
  verbs: ["get"]
{{- end }}
{{- if has "drill" .Values.rbac.features }}
# drill: questions to the recovered database. It reaches every port of every pod, so the feature is off unless written
- apiGroups: [""]
  resources: ["pods/portforward"]
  verbs: ["get", "create"]
{{- end }}
{{- end }}
{{- define "dalsegno.rules.named" -}}
{{- if eq .feature "cnpg.use-keys" }}
# cnpg.use-keys: keys of archives that no configured store covers, for the Secrets that are named
- apiGroups: [""]
  resources: ["secrets"]
  resourceNames: {{ toJson .names }}
  verbs: ["get"]
{{- end }}
{{- end }}
