package helm_test

import (
	"strings"
	"testing"
)

// Wrong values are refused before anything is rendered or sent, by a text that names the value, and where it can the next step.
func TestWrongValuesAreRefused(t *testing.T) {
	set := func(path string, value any) func(map[string]any) {
		return func(values map[string]any) {
			parts := strings.Split(path, ".")
			for _, p := range parts[:len(parts)-1] {
				next, ok := values[p].(map[string]any)
				if !ok {
					next = map[string]any{}
					values[p] = next
				}
				values = next
			}
			values[parts[len(parts)-1]] = value
		}
	}
	agent := func(path string, value any) func(map[string]any) {
		return func(values map[string]any) {
			set(path, value)(values["agents"].([]any)[0].(map[string]any))
		}
	}
	for _, c := range []struct {
		name, example string
		change        func(map[string]any)
		says          []string
	}{
		{"an unknown value", "serve.yaml", set("memoryMax", "4G"), []string{"memoryMax", "not allowed"}},
		{"an unknown value further in", "serve.yaml", set("serve.tls.selfsigned", true), []string{"selfsigned", "/serve/tls"}},
		{"a wrong type", "serve.yaml", set("serve.port", "4620"), []string{"/serve/port", "string"}},
		{"a port that is none", "serve.yaml", set("serve.port", 70000), []string{"/serve/port", "65,535"}},
		{"no token", "serve.yaml", set("token.existingSecret", ""), []string{"there is no default", "openssl rand -hex 32", "token.existingSecret=plimsoll-token"}},
		{"two tokens", "serve.yaml", set("token.value", "0123456789abcdef"), []string{"existingSecret and value are both set"}},
		{"a token that can be guessed", "self-contained.yaml", set("token.value", "secret"), []string{"shorter than 16 characters"}},
		{"no certificate", "serve.yaml", set("serve.tls.existingSecret", ""), []string{"needs a certificate", "serve.tls.selfSigned"}},
		{"two certificates", "serve.yaml", set("serve.tls.selfSigned", true), []string{"keep one of them"}},
		{"an issuer without a name", "cert-manager.yaml", set("serve.tls.certManager.issuerRef.name", ""), []string{"name the Issuer"}},
		{"resources without a limit", "serve.yaml", set("serve.resources", map[string]any{"requests": map[string]any{"memory": "1Gi"}, "limits": nil}), []string{"limits"}},
		{"memory in Plimsoll's own words", "agents.yaml", agent("resources.limits.memory", "2GiB"), []string{"/agents/0/resources/limits/memory", "2GiB"}},
		{"an agent without resources", "agents.yaml", func(v map[string]any) { delete(v["agents"].([]any)[0].(map[string]any), "resources") }, []string{"/agents/0", "resources"}},
		{"an unknown pattern", "agents.yaml", agent("pattern", "daemon"), []string{"/agents/0/pattern", "initCopy"}},
		{"a cron job without a schedule", "agents.yaml", agent("kind", "CronJob"), []string{"reviewer is a CronJob and has no schedule"}},
		{"a schedule without a cron job", "agents.yaml", agent("schedule", "0 * * * *"), []string{"set kind: CronJob"}},
		{"flags of run for a sidecar", "agents.yaml", agent("pattern", "sidecar"), []string{"remove run"}},
		{"root", "agents.yaml", agent("runAsUser", 0), []string{"/agents/0/runAsUser"}},
		{"a digest that is none", "serve.yaml", set("image.digest", "latest"), []string{"/image/digest"}},
		{"several daemons without a store", "serve.yaml", set("serve.replicas", 2), []string{"serve.replicas", "needs serve.fleet.url"}},
		{"no daemon", "serve.yaml", set("serve.replicas", 0), []string{"/serve/replicas"}},
		{"one claim for several daemons", "replicas.yaml", set("serve.state.existingClaim", "mine"), []string{"serve.state.existingClaim", "gets its own"}},
		{"credentials for nobody", "serve.yaml", set("serve.fleet.credentials.existingSecret", "nats"), []string{"serve.fleet.credentials", "set serve.fleet.url"}},
		{"a password in an address", "replicas.yaml", set("serve.fleet.url", "nats://user:password@nats:4222"), []string{"/serve/fleet/url"}},
		{"no name of an account that is there", "serve.yaml", set("serviceAccount.create", false), []string{"serviceAccount.name"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			values := try(t, c.example, needed[c.example])
			if _, err := render(values); err != nil {
				t.Fatalf("as it is: %v", err)
			}
			c.change(values)
			files, err := render(values)
			if err == nil {
				t.Fatalf("rendered: %d files", len(files))
			}
			for _, want := range c.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
		})
	}
}
