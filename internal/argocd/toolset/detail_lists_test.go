package toolset_test

import (
	"strings"
	"testing"
)

func TestServerLists(t *testing.T) {
	t.Parallel()
	set, s := played(t, map[string]string{
		"repositories": string(recordedBody(t, "repositories")),
		"certificates": `{"items":[{"serverName":"z.example.net","certType":"https","certData":"cHVibGlj","certInfo":"CN=z"},{"serverName":"a.example.net","certType":"ssh","certSubType":"ssh-ed25519","certInfo":"SHA256:abc"}]}`,
		"gpgkeys":      `{"items":[{"keyID":"4AEE18F83AFDEB23","fingerprint":"5DE3","owner":"GitHub","trust":"unknown","subType":"rsa2048","keyData":"-----BEGIN"}]}`,
		"gpgkeys/X":    `{}`,
		"account":      body(t, "accounts"),
		"account/ci":   `{"name":"ci","enabled":true,"capabilities":["apiKey"],"tokens":[{"id":"x","issuedAt":"1763632800","expiresAt":"0"}]}`,
		"account/can-i/applications/sync/payments/checkout": `{"value":"yes"}`,
		"account/can-i/clusters/get/%2A":                    `{"value":"no"}`,
		"/api/version":                                      body(t, "version"),
		"applications/g":                                    `{"metadata":{"name":"g","namespace":"argocd"}}`,
		"applications/g/links":                              `{}`,
		"applications/a/links":                              `{"items":[{"title":"Grafana","url":"https://g.example.net/d?token=hunter2hunter2"}]}`,
	})
	type list struct {
		Pagination struct {
			Total int `json:"total_items"`
		}
		Summary map[string]map[string]int
		Items   []map[string]any
	}
	repos, text := ask[list](t, set, "repository_list", `{}`)
	holdsToBounds(t, "repository_list", text)
	if repos.Pagination.Total != 24 || repos.Summary["by_connection"]["Failed"] == 0 || repos.Items[0]["connection"] != "Failed" {
		t.Errorf("%d repositories, %v", repos.Pagination.Total, repos.Summary)
	}
	certificates, text := ask[list](t, set, "certificate_service__list_certificates", `{"param_certType":"ssh"}`)
	if len(certificates.Items) != 2 || certificates.Items[0]["server"] != "a.example.net" || strings.Contains(text, "cHVibGlj") || s.query("certificates").Get("certType") != "ssh" {
		t.Error(text)
	}
	if keys, text := ask[list](t, set, "gpg_key_service__list", `{}`); len(keys.Items) != 1 || strings.Contains(text, "BEGIN") {
		t.Error(text)
	}
	// That there is no key does not mean that nobody asks for signatures: a project with signatureKeys then refuses every sync.
	none, _ := played(t, map[string]string{"gpgkeys": `{"items":null}`})
	if _, text := ask[list](t, none, "gpg_key_service__list", `{}`); !strings.Contains(text, "a project with signatureKeys refuses every sync") {
		t.Error(text)
	}
	refusedWith(t, set, "gpg_key_service__get", `{"key_id":"X"}`, "no key")
	if accounts, text := ask[list](t, set, "account_service__list_accounts", `{}`); len(accounts.Items) != 3 || accounts.Items[0]["name"] != "admin" {
		t.Error(text)
	}
	if _, text := ask[any](t, set, "account_service__get_account", `{"path_name":"ci"}`); !strings.Contains(text, "2025-11-20T") || strings.Contains(text, "expires") {
		t.Error(text)
	}
	if may, text := ask[struct{ Allowed bool }](t, set, "account_service__can_i", `{"resource":"applications","action":"sync","subresource":"payments/checkout"}`); !may.Allowed {
		t.Error(text)
	}
	if may, text := ask[struct{ Allowed bool }](t, set, "account_service__can_i", `{"resource":"clusters","action":"get"}`); may.Allowed {
		t.Error(text)
	}
	if v, text := ask[struct{ Version string }](t, set, "version_service__version", `{}`); !strings.HasPrefix(v.Version, "v3.5.1") {
		t.Error(text)
	}
	if a, text := ask[struct{ Link string }](t, set, "application_service__list_links", `{"name":"g"}`); !strings.HasSuffix(a.Link, "/applications/argocd/g") {
		t.Error(text)
	}
	if _, text := ask[any](t, set, "application_service__list_links", `{"name":"a"}`); !strings.Contains(text, "Grafana") || strings.Contains(text, "hunter2") {
		t.Error(text)
	}
}

func TestGenerateShowsWithoutMaking(t *testing.T) {
	t.Parallel()
	set, s := played(t, map[string]string{
		"applicationsets/some":     `{"metadata":{"name":"some","namespace":"argocd","uid":"u","managedFields":[1]},"spec":{"generators":[{"list":{"elements":[]}}],"template":{}},"status":{"x":1}}`,
		"applicationsets/generate": `{"applications":[{"metadata":{"name":"b"},"spec":{"project":"p","destination":{"name":"c","namespace":"n"},"sources":[{"repoURL":"r1","path":"x"},{"repoURL":"r2"}]}},{"metadata":{"name":"a"},"spec":{"project":"p","source":{"repoURL":"r","chart":"c","targetRevision":"1"}}}]}`,
	})
	type answer struct{ Items []map[string]any }
	a, text := ask[answer](t, set, "application_set_service__generate", `{"generators":[{"list":{"elements":[{"a":"b"}]}}],"template":{"metadata":{"name":"x"}},"applicationSet_metadata_labels":{"env":"prod"}}`)
	if len(a.Items) != 2 || a.Items[0]["name"] != "a" || a.Items[0]["source"] != "r c @ 1" || len(a.Items[1]["sources"].([]any)) != 2 {
		t.Error(text)
	}
	s.mu.Lock()
	sent := s.sent["applicationsets/generate"]
	s.mu.Unlock()
	if !strings.Contains(sent, `"labels":{"env":"prod"}`) || !strings.Contains(sent, `"elements":[{"a":"b"}]`) {
		t.Error(sent)
	}
	ask[answer](t, set, "application_set_service__generate", `{"name":"some"}`)
	s.mu.Lock()
	sent = s.sent["applicationsets/generate"]
	s.mu.Unlock()
	if !strings.Contains(sent, `"name":"some"`) || strings.Contains(sent, "status") || strings.Contains(sent, "managedFields") {
		t.Error(sent)
	}
	refusedWith(t, set, "application_set_service__generate", `{}`, "generators and template")
	refusedWith(t, set, "application_set_service__generate", `{"name":"x","template":{"a":1}}`, "name of an application set")
}
