package profile

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

// AWS's libraries are pointed at the proxy for every tool, where it can sign anew; without TLS a key is left alone.
func TestAWSLibrariesGoThrough(t *testing.T) {
	for _, c := range []struct {
		env     []string
		aws     bool
		address string // of the upstream; "" for none
		region  string
	}{
		{nil, true, "https://bedrock-runtime.us-east-1.amazonaws.com", "us-east-1"},
		{[]string{"AWS_DEFAULT_REGION=eu-central-1"}, true, "https://bedrock-runtime.eu-central-1.amazonaws.com", "eu-central-1"},
		{[]string{"AWS_REGION=eu-west-1", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME=https://vpce.example.net"}, true, "https://vpce.example.net", "eu-west-1"},
		{[]string{"AWS_REGION=eu-west-1"}, false, "", ""},
		{[]string{"AWS_BEARER_TOKEN_BEDROCK=t"}, true, "", ""},
		{[]string{"AWS_REGION=x/@evil"}, true, "", ""},
		{[]string{"AWS_ENDPOINT_URL_BEDROCK_RUNTIME=https://user:secret@vpce.example.net"}, true, "", ""},
	} {
		s := row{tool: "generic", env: c.env, aws: c.aws}.plan(t)
		if s.Why != "" {
			t.Errorf("%v: no proxy at all: %s", c.env, s.Why)
		}
		got := map[string]string{}
		for _, v := range s.Env {
			got[v.Name] = v.Value
		}
		want, last := "", s.Upstreams[len(s.Upstreams)-1]
		if c.address != "" {
			want = root + "/bedrock"
		}
		if got["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"] != want || got["AWS_BEDROCK_RUNTIME_ENDPOINT"] != want {
			t.Errorf("%v: %v", c.env, got)
		}
		if is := last.Provider == "bedrock"; is != (c.address != "") || is && (last.URL != c.address || last.SignRegion != c.region) {
			t.Errorf("%v: reaches %+v", c.env, last)
		}
	}
}

const systemFile = "/etc/ssl/certs/ca-certificates.crt"

// trusting is what a child gets that is sent to an address with TLS, which is base for Bedrock.
func trusting(base string, others map[string]string) map[string]string {
	set := map[string]string{
		"AWS_CA_BUNDLE": filepath.Join("/run/private", "aws_ca_bundle.pem"),
		"SSL_CERT_FILE": filepath.Join("/run/private", "ssl_cert_file.pem"), nodeAuthorities: filepath.Join("/run/private", "node_extra_ca_certs.pem"),
	}
	if base != "" {
		set["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"], set["AWS_BEDROCK_RUNTIME_ENDPOINT"] = base, base
	}
	maps.Copy(set, others)
	return set
}

// A key of Bedrock's own goes through the address with TLS, by an authority that is trusted beside what was trusted before.
func TestBedrocksKeysGoByTLS(t *testing.T) {
	bedrock := Upstream{Name: "bedrock", Provider: "bedrock", URL: "https://bedrock-runtime.us-east-1.amazonaws.com"}
	signed := bedrock
	signed.SignRegion = "us-east-1"
	secured := secureRoot + "/bedrock"
	libraries := map[string]string{"OPENAI_BASE_URL": root + "/openai/v1", "OPENAI_API_BASE": root + "/openai/v1", "ANTHROPIC_BASE_URL": root + "/anthropic", geminiBase: root + "/gemini"}
	three := []Upstream{openai, anthropic, google}
	for _, r := range []row{
		{
			name: "the system's roots", tool: "generic", secure: true, env: []string{bearerKey + "=k"}, files: map[string]string{systemFile: "SYSTEM"},
			set: trusting(secured, libraries), private: "SYSTEM\nOURS\nSYSTEM\nOURS\n\nOURS\n", reaches: append(three, bedrock),
		},
		{
			name: "with credentials too", tool: "generic", secure: true, aws: true, env: []string{bearerKey + "=k"}, files: map[string]string{systemFile: "SYSTEM"},
			set: trusting(secured, libraries), private: "SYSTEM\nOURS\nSYSTEM\nOURS\n\nOURS\n", reaches: append(three, signed),
		},
		{
			name: "files of one's own, and no others", tool: "generic", secure: true,
			env:   []string{bearerKey + "=k", "AWS_CA_BUNDLE=~/a.pem", "SSL_CERT_FILE=/s.pem", nodeAuthorities + "=n.pem"},
			files: map[string]string{systemFile: "SYSTEM", "/home/ann/a.pem": "A", "/s.pem": "S", "/home/ann/work/n.pem": "N"},
			set:   trusting(secured, libraries), private: "A\nOURS\nS\nOURS\nN\nOURS\n", reaches: append(three, bedrock),
		},
		{
			name: "what AWS's settings name", tool: "generic", secure: true, env: []string{bearerKey + "=k", "AWS_PROFILE=work", "REQUESTS_CA_BUNDLE=/r.pem"},
			files: map[string]string{systemFile: "SYSTEM", "/a.pem": "A", "/r.pem": "R", "/home/ann/.aws/config": "[default]\nca_bundle=/no.pem\n[profile work]\nregion = x\nca_bundle = /a.pem\n"},
			set:   trusting(secured, libraries), private: "A\nOURS\nSYSTEM\nOURS\n\nOURS\n", reaches: append(three, bedrock),
		},
		{
			name: "what botocore falls back on", tool: "generic", secure: true, env: []string{bearerKey + "=k", "REQUESTS_CA_BUNDLE=/r.pem"}, files: map[string]string{systemFile: "SYSTEM", "/r.pem": "R"},
			set: trusting(secured, libraries), private: "R\nOURS\nSYSTEM\nOURS\n\nOURS\n", reaches: append(three, bedrock),
		},
		{name: "no roots", tool: "generic", secure: true, env: []string{bearerKey + "=k"}, set: libraries, reaches: three},
		{name: "a file that is not there", tool: "generic", secure: true, env: []string{bearerKey + "=k", "SSL_CERT_FILE=/gone.pem"}, files: map[string]string{systemFile: "SYSTEM"}, set: libraries, reaches: three},
		{
			name: "Claude Code", tool: "claude", secure: true, env: []string{"CLAUDE_CODE_USE_BEDROCK=1", bearerKey + "=k"}, files: map[string]string{systemFile: "SYSTEM"},
			set: trusting(secured, map[string]string{"ANTHROPIC_BEDROCK_BASE_URL": secured}), private: "SYSTEM\nOURS\nSYSTEM\nOURS\n\nOURS\n", reaches: []Upstream{bedrock},
		},
		{
			name: "Claude Code whose settings name authorities", tool: "claude", secure: true, env: []string{"CLAUDE_CODE_USE_BEDROCK=1", bearerKey + "=k"},
			files: map[string]string{systemFile: "SYSTEM", "/home/ann/.claude/settings.json": `{"env":{"NODE_EXTRA_CA_CERTS":"/c.pem"}}`},
			set:   trusting(secured, map[string]string{"ANTHROPIC_BEDROCK_BASE_URL": root + "/bedrock"}), private: "SYSTEM\nOURS\nSYSTEM\nOURS\n\nOURS\n", reaches: []Upstream{bedrock},
		},
		{
			name: "Claude Code that asks Anthropic", tool: "claude", secure: true, env: []string{bearerKey + "=k", claudeBase + "=" + gateway}, files: map[string]string{systemFile: "SYSTEM"},
			set: map[string]string{claudeBase: root + "/anthropic"}, reaches: []Upstream{at(anthropic, gateway)},
		},
	} {
		t.Run(r.name, r.check)
	}
	refused := func() (string, []byte, error) { return "", nil, errors.New("no room") }
	s, err := Generic.Plan(Setup{
		Argv: []string{"x"}, Environ: []string{"HOME=/h", bearerKey + "=k"}, Dir: "/h", Root: root, Folder: "/f", Secure: refused,
		ReadFile: func(name string) ([]byte, error) {
			if name == systemFile {
				return []byte("SYSTEM"), nil
			}
			return nil, fs.ErrNotExist
		},
	})
	if err != nil || s.Why != "" || len(s.Files) > 0 || !strings.Contains(strings.Join(s.Notes, " "), "no room") {
		t.Errorf("%v, %+v", err, s)
	}
}

// An address at Azure stays the upstream.
func TestAzuresAddressGoesThrough(t *testing.T) {
	libraries := map[string]string{"OPENAI_BASE_URL": root + "/openai/v1", "OPENAI_API_BASE": root + "/openai/v1", "ANTHROPIC_BASE_URL": root + "/anthropic", geminiBase: root + "/gemini"}
	ours := Upstream{Name: "azure", Provider: "azure", URL: "https://ours.openai.azure.com"}
	with := func(more map[string]string) map[string]string {
		maps.Copy(more, libraries)
		return more
	}
	for _, r := range []row{
		{
			name: "OpenAI's libraries", tool: "generic", secure: true, env: []string{"AZURE_OPENAI_ENDPOINT=https://ours.openai.azure.com/"}, files: map[string]string{systemFile: "SYSTEM"},
			set: with(trusting("", map[string]string{"AZURE_OPENAI_ENDPOINT": secureRoot + "/azure"})), private: "SYSTEM\nOURS\nSYSTEM\nOURS\n\nOURS\n", reaches: []Upstream{openai, anthropic, google, ours},
		},
		{
			name: "without TLS, and LiteLLM at another", tool: "generic", env: []string{"AZURE_OPENAI_ENDPOINT=http://127.0.0.1:1", "AZURE_API_BASE=http://b.example"},
			set:     with(map[string]string{"AZURE_OPENAI_ENDPOINT": root + "/azure", "AZURE_API_BASE": root + "/azure-2"}),
			reaches: []Upstream{openai, anthropic, google, {Name: "azure", Provider: "azure", URL: "http://127.0.0.1:1"}, {Name: "azure-2", Provider: "azure", URL: "http://b.example"}},
		},
		{name: "no TLS to be had", tool: "generic", env: []string{"AZURE_OPENAI_ENDPOINT=https://ours.openai.azure.com"}, set: libraries, reaches: []Upstream{openai, anthropic, google}},
		{
			name: "an agent that asks another provider", tool: "claude", env: []string{claudeBase + "=" + gateway, "AZURE_OPENAI_ENDPOINT=http://127.0.0.1:1"},
			set: map[string]string{claudeBase: root + "/anthropic"}, reaches: []Upstream{at(anthropic, gateway)},
		},
		{name: "a password", tool: "generic", env: []string{"AZURE_OPENAI_ENDPOINT=http://a:b@ours.openai.azure.com"}, set: with(map[string]string{}), reaches: []Upstream{openai, anthropic, google}},
	} {
		t.Run(r.name, r.check)
	}
}
