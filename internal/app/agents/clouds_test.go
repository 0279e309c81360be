package agents

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// What LLM_PROVIDER names is asked with the original's variables, whatever other keys are there.
func TestCloudsAreAskedByTheOriginalsVariables(t *testing.T) {
	var got string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		got = r.RequestURI
		for _, name := range []string{"Api-Key", "Authorization"} {
			got += " " + r.Header.Get(name)
		}
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, `{"error":{"message":"that is all"}}`)
	}))
	t.Cleanup(s.Close)
	home := t.TempDir()
	gcp := filepath.Join(home, "gcp.json")
	testfile.Write(t, gcp, `{"type":"authorized_user","quota_project_id":"p","client_id":"c","refresh_token":"r"}`)
	for _, name := range []string{"AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "AWS_SESSION_TOKEN", "GOOGLE_CLOUD_PROJECT", "GCP_PROJECT", "GCE_METADATA_HOST", "OPENAI_BASE_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("HOME", home)
	for _, c := range []struct {
		name string
		env  map[string]string
		want string // of the request
		err  string
	}{
		{"azure", map[string]string{
			"LLM_PROVIDER": "azure-openai", "AZURE_OPENAI_ENDPOINT": s.URL, "AZURE_OPENAI_API_KEY": "a", "AZURE_OPENAI_DEPLOYMENT": "d", "AZURE_OPENAI_API_VERSION": "v",
		}, "/openai/deployments/d/chat/completions?api-version=v a ", ""},
		{"bedrock", map[string]string{
			"LLM_PROVIDER": "aws-bedrock", "AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": s.URL, "AWS_BEDROCK_MODEL_ID": "anthropic.claude-x", "AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "s",
		}, "/model/anthropic.claude-x/invoke-with-response-stream  AWS4-HMAC-SHA256 Credential=AKID/", ""},
		{"another maker's model of bedrock", map[string]string{
			"LLM_PROVIDER": "aws-bedrock", "AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": s.URL, "AWS_BEDROCK_MODEL_ID": "eu.amazon.nova-x", "AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "s",
		}, "/model/eu.amazon.nova-x/converse-stream  AWS4-HMAC-SHA256 Credential=AKID/", ""},
		{"bedrock without credentials", map[string]string{"LLM_PROVIDER": "aws-bedrock", "AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": s.URL, "AWS_BEDROCK_MODEL_ID": "anthropic.claude-x"}, "", "there are no AWS credentials"},
		{"vertex without credentials", map[string]string{"LLM_PROVIDER": "gcp-vertexai", "VERTEXAI_MODEL_NAME": "gemini-x", "GOOGLE_VERTEX_BASE_URL": s.URL}, "", "set GOOGLE_APPLICATION_CREDENTIALS"},
		{"vertex without its file", map[string]string{"LLM_PROVIDER": "gcp-vertexai", "VERTEXAI_MODEL_NAME": "gemini-x", "GOOGLE_VERTEX_BASE_URL": s.URL, "GOOGLE_APPLICATION_CREDENTIALS": "~/none.json"}, "", "none.json"},
		{"vertex", map[string]string{"LLM_PROVIDER": "gcp-vertexai", "VERTEXAI_MODEL_NAME": "claude-x", "GOOGLE_VERTEX_BASE_URL": s.URL, "GOOGLE_APPLICATION_CREDENTIALS": "~/gcp.json"}, "token", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got = ""
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			t.Setenv("OPENAI_API_KEY", "another's")
			m, err := chooseModel(config.Agent{}, "", "", config.UpstreamSettings{}, os.Getenv)
			if err != nil {
				t.Fatal(err)
			}
			client := &http.Client{Transport: tokens{http.DefaultTransport}}
			model, err := openModel(t.Context(), m, config.Agent{}, client, &core.Closer{})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			_, err = model.Generate(t.Context(), &agent.Request{Messages: []agent.Message{{Role: agent.RoleUser, Text: "x"}}}, func(string) {})
			if err == nil || !strings.Contains(err.Error(), "that is all") || !strings.Contains(got, c.want) || strings.Contains(got, "another's") {
				t.Errorf("%v, asked %s", err, got)
			}
		})
	}
}

// tokens answers for Google's service of tokens.
type tokens struct{ http.RoundTripper }

func (t tokens) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != "oauth2.googleapis.com" {
		return t.RoundTripper.RoundTrip(r)
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"access_token":"token","expires_in":60}`))}, nil
}
