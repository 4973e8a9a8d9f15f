{{- define "braid.name" -}}
{{ .Release.Name | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "braid.labels" -}}
app.kubernetes.io/name: braid
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* The pods of both kinds. Takes a list: the chart's context, the kind (node or follower), its values, its own variables. */ -}}
{{- define "braid.pod" -}}
{{- $chart := index . 0 }}{{ $kind := index . 1 }}{{ $values := index . 2 }}
metadata:
  labels:
    {{- include "braid.labels" $chart | nindent 4 }}
    app.kubernetes.io/component: {{ $kind }}
spec:
  # requests under way have 5 s after the delay, the last quotes and the market are written after them
  terminationGracePeriodSeconds: 45
  automountServiceAccountToken: false
  {{- with $chart.Values.image.pullSecrets }}
  imagePullSecrets: {{ toJson . }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: { type: RuntimeDefault }
  containers:
    - name: braid
      image: {{ printf "%s:%s" $chart.Values.image.repository ($chart.Values.image.tag | default $chart.Chart.AppVersion) | quote }}
      imagePullPolicy: {{ $chart.Values.image.pullPolicy }}
      args: [serve]
      ports:
        - { name: http, containerPort: 8080 }
        - { name: metrics, containerPort: 9464 }
      env:
        - { name: BRAID_LISTEN, value: "0.0.0.0:8080" }
        - { name: BRAID_METRICS_LISTEN, value: "0.0.0.0:9464" }
        - { name: BRAID_DATA_DIR, value: /var/lib/braid }
        - { name: BRAID_LOG_FORMAT, value: json }
        # the time in which endpoints learn that /ready is 503
        - { name: BRAID_STOP_DELAY_MS, value: "5000" }
        {{- if $chart.Values.redis.secret }}
        - { name: BRAID_REDIS, valueFrom: { secretKeyRef: { name: {{ $chart.Values.redis.secret | quote }}, key: url } } }
        {{- end }}
        {{- if $chart.Values.apiKeys.secret }}
        - { name: BRAID_API_KEY_FILE, value: /secrets/api/keys }
        {{- end }}
        {{- if eq $kind "follower" }}
        - { name: BRAID_FOLLOW, value: "true" }
        {{- else }}
        - { name: BRAID_RPC_URL_FILE, value: /secrets/nodes/urls }
        {{- range $name, $value := $chart.Values.nodeEnv }}
        - { name: {{ $name }}, value: {{ $value | toString | quote }} }
        {{- end }}
        {{- end }}
        {{- range $name, $value := $chart.Values.env }}
        - { name: {{ $name }}, value: {{ $value | toString | quote }} }
        {{- end }}
      # the first search for pools takes long: a process that lives is not killed for it, and no quote is sent to it
      livenessProbe:
        httpGet: { path: /health, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /ready, port: http }
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 2
      resources: {{ toJson $values.resources }}
      securityContext:
        readOnlyRootFilesystem: true
        allowPrivilegeEscalation: false
        capabilities: { drop: [ALL] }
      volumeMounts:
        - { name: data, mountPath: /var/lib/braid }
        {{- if $chart.Values.apiKeys.secret }}
        - { name: api-keys, mountPath: /secrets/api, readOnly: true }
        {{- end }}
        {{- if eq $kind "node" }}
        - { name: node-urls, mountPath: /secrets/nodes, readOnly: true }
        {{- end }}
  volumes:
    {{- if eq $kind "follower" }}
    - { name: data, emptyDir: {} }
    {{- else }}
    - { name: node-urls, secret: { secretName: {{ $chart.Values.nodes.secret | quote }}, defaultMode: 0440 } }
    {{- end }}
    {{- if $chart.Values.apiKeys.secret }}
    - { name: api-keys, secret: { secretName: {{ $chart.Values.apiKeys.secret | quote }}, defaultMode: 0440 } }
    {{- end }}
{{- end }}
