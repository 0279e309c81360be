{{- define "plimsoll.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "plimsoll.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "plimsoll.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "plimsoll.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "plimsoll.selector" -}}
app.kubernetes.io/name: {{ include "plimsoll.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "plimsoll.labels" -}}
{{ include "plimsoll.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "plimsoll.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ default $.Chart.AppVersion .tag }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "plimsoll.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ default (include "plimsoll.fullname" .) .Values.serviceAccount.name }}
{{- else -}}
{{ required "serviceAccount.name: name the account that is there, or set serviceAccount.create" .Values.serviceAccount.name }}
{{- end -}}
{{- end -}}

{{/* The Secret with the token. */}}
{{- define "plimsoll.tokenSecret" -}}
{{- with .Values.token -}}
{{- if and .existingSecret .value -}}
{{- fail "token: existingSecret and value are both set; keep one of them" -}}
{{- else if .existingSecret -}}
{{ .existingSecret }}
{{- else if .value -}}
{{ include "plimsoll.fullname" $ }}-token
{{- else -}}
{{- fail "token: there is no default; make one with\n  kubectl create secret generic plimsoll-token --from-literal=token=$(openssl rand -hex 32)\nand set token.existingSecret=plimsoll-token" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "plimsoll.tokenKey" -}}
{{- if .Values.token.existingSecret }}{{ .Values.token.key }}{{ else }}token{{ end -}}
{{- end -}}

{{- define "plimsoll.tokenEnv" -}}
- name: PLIMSOLL_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ include "plimsoll.tokenSecret" . }}
      key: {{ include "plimsoll.tokenKey" . }}
{{- end -}}

{{/* The Secret with the certificate of the daemon. */}}
{{- define "plimsoll.tlsSecret" -}}
{{- with .Values.serve.tls -}}
{{- $ways := 0 -}}
{{- if .existingSecret }}{{ $ways = add1 $ways }}{{ end -}}
{{- if .certManager.enabled }}{{ $ways = add1 $ways }}{{ end -}}
{{- if .selfSigned }}{{ $ways = add1 $ways }}{{ end -}}
{{- if eq (int $ways) 0 -}}
{{- fail "serve.tls: beyond loopback the daemon needs a certificate; set serve.tls.existingSecret, serve.tls.certManager.enabled or serve.tls.selfSigned" -}}
{{- else if gt (int $ways) 1 -}}
{{- fail "serve.tls: existingSecret, certManager.enabled and selfSigned are ways to the same certificate; keep one of them" -}}
{{- end -}}
{{- if .existingSecret }}{{ .existingSecret }}{{ else }}{{ include "plimsoll.fullname" $ }}-tls{{ end -}}
{{- end -}}
{{- end -}}

{{/* The number of daemons, which agree about conversations through the fleet. */}}
{{- define "plimsoll.replicas" -}}
{{- with .Values.serve -}}
{{- if gt (int .replicas) 1 -}}
{{- if not .fleet.url -}}
{{- fail "serve.replicas: more than one daemon needs serve.fleet.url, or each would send other bytes of a conversation; docs/kubernetes.md says how to start NATS" -}}
{{- else if and .state.persistent .state.existingClaim -}}
{{- fail "serve.state.existingClaim: one claim can't be the volume of several daemons; leave it empty, and each of serve.replicas gets its own" -}}
{{- end -}}
{{- end -}}
{{- if and .fleet.credentials.existingSecret (not .fleet.url) -}}
{{- fail "serve.fleet.credentials: there is no server to show them to; set serve.fleet.url" -}}
{{- end -}}
{{ .replicas }}
{{- end -}}
{{- end -}}

{{- define "plimsoll.serviceNames" -}}
{{- $n := include "plimsoll.fullname" . -}}
{{- $ns := .Release.Namespace -}}
{{- list $n (printf "%s.%s" $n $ns) (printf "%s.%s.svc" $n $ns) (printf "%s.%s.svc.cluster.local" $n $ns) | join "," -}}
{{- end -}}

{{/* What the restricted profile of Pod Security asks for. */}}
{{- define "plimsoll.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ . }}
runAsGroup: {{ . }}
fsGroup: {{ . }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "plimsoll.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* Where pods may go: to names, and to the ports that values name; never to the address of the cloud with its credentials. */}}
{{- define "plimsoll.egress" }}
    - ports:
        - {protocol: UDP, port: 53}
        - {protocol: TCP, port: 53}
    {{- with .Values.networkPolicy.egressPorts }}
    - to:
        - ipBlock: {cidr: 0.0.0.0/0, except: [169.254.0.0/16]}
        - ipBlock: {cidr: "::/0", except: ["fe80::/10", "fd00:ec2::254/128"]}
      ports:
        {{- range . }}
        - {protocol: TCP, port: {{ . }}}
        {{- end }}
    {{- end }}
    {{- with .Values.networkPolicy.extraEgress }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
