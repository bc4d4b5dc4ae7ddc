{{- define "assay.name" -}}
{{- .Release.Name | trunc 48 | trimSuffix "-" -}}
{{- end -}}

{{- define "assay.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{- end -}}
{{- end -}}
{{- end -}}

{{- define "assay.labels" -}}
app.kubernetes.io/name: assay
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- /* A list of the root and the role. */ -}}
{{- define "assay.selector" -}}
app.kubernetes.io/name: assay
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "assay.environment" -}}
- name: ASSAY_PUBLIC_URL
  value: {{ .Values.publicUrl | quote }}
- name: ASSAY_JAIL
  value: {{ .Values.walls | quote }}
- name: ASSAY_STORE
  valueFrom: { secretKeyRef: { name: {{ .Values.secret.name }}, key: {{ .Values.secret.store }} } }
- name: ASSAY_SECRET_KEY
  valueFrom: { secretKeyRef: { name: {{ .Values.secret.name }}, key: {{ .Values.secret.secretKey }} } }
{{- if .Values.secret.token }}
- name: ASSAY_TOKEN
  valueFrom: { secretKeyRef: { name: {{ .Values.secret.name }}, key: {{ .Values.secret.token }} } }
{{- end }}
{{- if .Values.files.claim }}
- name: ASSAY_FILES
  value: /files
{{- else if not .Values.settings.ASSAY_FILES }}
{{- fail "Uploads need a place that all nodes reach: give files.claim, or settings.ASSAY_FILES as s3://BUCKET/PREFIX." }}
{{- end }}
{{- if not .Values.data.claim }}
- name: ASSAY_DATA
  value: ""
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- range $name, $of := .Values.secretSettings }}
- name: {{ $name }}
  valueFrom: { secretKeyRef: { name: {{ $of.name }}, key: {{ $of.key }} } }
{{- end }}
{{- end -}}
