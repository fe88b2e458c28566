{{- define "image" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{- define "labels" -}}
app.kubernetes.io/name: sfcore-fleet
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "metadata" -}}
name: {{ .Release.Name }}-{{ .component }}
labels:
  {{- include "labels" . | nindent 2 }}
{{- end }}

{{- define "queue" -}}
- --queue={{ .Values.queue.url }}
- --seed=/seeds/{{ .role }}.seed
{{- if .Values.queue.ca }}
- --ca=/seeds/ca.pem
{{- end }}
{{- end }}

{{- define "unprivileged" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "health" -}}
livenessProbe:
  tcpSocket: {port: http}
  periodSeconds: 20
readinessProbe:
  httpGet: {path: /healthz, port: http}
  periodSeconds: 10
{{- end }}
