{{/* The pod of an agent: initCopy starts it by plimsoll run, sidecar has plimsoll serve beside it. */}}
{{- define "plimsoll.agentPod" -}}
{{- $root := .root -}}
{{- $agent := .agent -}}
metadata:
  labels:
    {{- include "plimsoll.labels" $root | nindent 4 }}
    app.kubernetes.io/component: agent
    plimsoll.dev/agent: {{ $agent.name }}
    plimsoll.dev/client: "true"
    {{- with $agent.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    kubectl.kubernetes.io/default-container: agent
    {{- with $agent.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ default (include "plimsoll.serviceAccount" $root) $agent.serviceAccountName }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- if ne .kind "Deployment" }}
  restartPolicy: Never
  {{- end }}
  terminationGracePeriodSeconds: {{ default 30 $agent.terminationGracePeriodSeconds }}
  securityContext: {{- include "plimsoll.podSecurity" .user | nindent 4 }}
  {{- with $root.Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  initContainers:
    - name: plimsoll
      image: {{ include "plimsoll.image" $root }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      securityContext: {{- include "plimsoll.containerSecurity" . | nindent 8 }}
      {{- if eq $agent.pattern "initCopy" }}
      command: [/plimsoll, copy-to, /plimsoll-bin]
      resources:
        requests: {cpu: 10m, memory: 32Mi}
        limits: {memory: 64Mi}
      volumeMounts:
        - {name: plimsoll-bin, mountPath: /plimsoll-bin}
      {{- else }}
      # A sidecar: it is ready before the agent starts, and ends after it.
      restartPolicy: Always
      command: [/plimsoll, serve]
      env:
        {{- include "plimsoll.tokenEnv" $root | nindent 8 }}
        - {name: PLIMSOLL_SERVE_TOKEN, value: PLIMSOLL_TOKEN}
        - {name: PLIMSOLL_SERVE_LISTEN, value: "127.0.0.1:4620"}
        - {name: PLIMSOLL_SERVE_ANY_USER, value: "true"}
        - {name: PLIMSOLL_STATE_DIR, value: /var/lib/plimsoll/state}
        - {name: PLIMSOLL_CACHE_DIR, value: /var/lib/plimsoll/cache}
        - {name: HOME, value: /var/lib/plimsoll}
        {{- with $agent.sidecarEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      # The kubelet cannot reach 127.0.0.1 of a pod, so the program asks itself.
      startupProbe:
        exec: {command: [/plimsoll, health]}
        periodSeconds: 2
        timeoutSeconds: 5
        failureThreshold: 30
      livenessProbe:
        exec: {command: [/plimsoll, health, --live]}
        periodSeconds: 30
        timeoutSeconds: 5
        failureThreshold: 4
      terminationMessagePolicy: FallbackToLogsOnError
      resources: {{- default (dict "requests" (dict "cpu" "50m" "memory" "128Mi") "limits" (dict "memory" "512Mi")) $agent.sidecarResources | toYaml | nindent 8 }}
      volumeMounts:
        - {name: plimsoll-state, mountPath: /var/lib/plimsoll}
        - {name: tmp, mountPath: /tmp, subPath: plimsoll}
      {{- end }}
  containers:
    - name: agent
      image: {{ $agent.image }}
      imagePullPolicy: {{ default "IfNotPresent" $agent.imagePullPolicy }}
      {{- if eq $agent.pattern "initCopy" }}
      command: {{- concat (list "/plimsoll-bin/plimsoll" "run") (default list $agent.run) (list "--") $agent.command | toYaml | nindent 8 }}
      {{- else }}
      command: {{- $agent.command | toYaml | nindent 8 }}
      {{- end }}
      env:
        - {name: HOME, value: {{ .home }}}
        {{- if eq $agent.pattern "initCopy" }}
        # The container has what the agent needs for itself: its request is what is reserved, and nothing must stay free for others.
        - name: PLIMSOLL_RESOURCES_RESERVATION
          valueFrom:
            resourceFieldRef: {containerName: agent, resource: requests.memory}
        - {name: PLIMSOLL_RESOURCES_MIN_FREE, value: "0"}
        - {name: PLIMSOLL_STATE_DIR, value: {{ .home }}/.plimsoll/state}
        - {name: PLIMSOLL_CACHE_DIR, value: {{ .home }}/.plimsoll/cache}
        {{- else }}
        {{- include "plimsoll.tokenEnv" $root | nindent 8 }}
        - {name: OPENAI_BASE_URL, value: "http://127.0.0.1:4620/$(PLIMSOLL_TOKEN)/openai/v1"}
        - {name: ANTHROPIC_BASE_URL, value: "http://127.0.0.1:4620/$(PLIMSOLL_TOKEN)/anthropic"}
        - {name: GOOGLE_GEMINI_BASE_URL, value: "http://127.0.0.1:4620/$(PLIMSOLL_TOKEN)/gemini"}
        {{- end }}
        {{- with $agent.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $agent.envFrom }}
      envFrom: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $agent.workingDir }}
      workingDir: {{ . }}
      {{- end }}
      terminationMessagePath: /dev/termination-log
      terminationMessagePolicy: FallbackToLogsOnError
      resources: {{- toYaml $agent.resources | nindent 8 }}
      securityContext: {{- include "plimsoll.containerSecurity" . | nindent 8 }}
      volumeMounts:
        {{- if eq $agent.pattern "initCopy" }}
        - {name: plimsoll-bin, mountPath: /plimsoll-bin, readOnly: true}
        {{- end }}
        - {name: home, mountPath: {{ .home }}}
        - {name: tmp, mountPath: /tmp, subPath: agent}
        {{- with $agent.volumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    {{- if eq $agent.pattern "initCopy" }}
    - name: plimsoll-bin
      emptyDir: {sizeLimit: 128Mi}
    {{- else }}
    - name: plimsoll-state
      emptyDir: {sizeLimit: 1Gi}
    {{- end }}
    - name: home
      {{- if $agent.homeClaim }}
      persistentVolumeClaim: {claimName: {{ $agent.homeClaim }}}
      {{- else }}
      emptyDir: {sizeLimit: {{ default "4Gi" $agent.homeSize }}}
      {{- end }}
    - name: tmp
      emptyDir: {sizeLimit: {{ default "4Gi" $agent.homeSize }}}
    {{- with $agent.volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $agent.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $agent.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
