package toolset_test

import (
	"strings"
	"testing"
)

// The tree calls a Deployment apps/Deployment, and whoever reads it sends that.
func TestKindsAsTheTreeShowsThem(t *testing.T) {
	t.Parallel()
	set, s := played(t, map[string]string{
		"applications/a/resource-tree": `{"nodes":[{"group":"apps","version":"v1","kind":"Deployment","namespace":"n","name":"ui"},{"version":"v1","kind":"Pod","namespace":"n","name":"ui-1"}]}`,
		"applications/a/resource":      `{"manifest":"{\"kind\":\"Deployment\",\"metadata\":{\"name\":\"ui\"}}"}`,
		"applications/a/logs":          endOfLog,
	})
	for _, kind := range []string{"apps/Deployment", "Deployment", "Apps/deployment"} {
		if _, text := ask[map[string]any](t, set, "get_resource", `{"name":"a","kind":"`+kind+`","resource_name":"ui"}`); !strings.Contains(text, `"ui"`) {
			t.Error(text)
		}
		if q := s.query("applications/a/resource"); q.Get("kind") != "Deployment" || q.Get("group") != "apps" {
			t.Errorf("asked with %v", q)
		}
	}
	one, text := ask[treePage](t, set, "get_application_resource_tree", `{"name":"a","kind":"apps/Deployment"}`)
	if len(one.Items) != 1 || one.Items[0].Name != "ui" {
		t.Error(text)
	}
	callTool(t, set, nil, "application_service__pod_logs", `{"name":"a","kind":"apps/Deployment","resource_name":"ui"}`)
	if q := s.query("applications/a/logs"); q.Get("kind") != "Deployment" || q.Get("group") != "apps" {
		t.Errorf("asked with %v", q)
	}
	refusedWith(t, set, "get_resource", `{"name":"a","kind":"batch/Deployment","resource_name":"ui"}`, "no resource")
}

// Good JSON that is no object must not become an application without a status.
func TestWhatIsNoObjectIsNotShownAsOne(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`null`, `{}`, `{"items":[]}`, `{"metadata":{}}`} {
		set, _ := played(t, map[string]string{"applications/a": body, "projects/p/detailed": body, "clusters/c": body})
		refusedWith(t, set, "get_application_details", `{"name":"a"}`, "no object of Argo CD", "URL")
		if len(body) < 5 {
			refusedWith(t, set, "get_application_details", `{"name":"a","full":true}`, "no object of Argo CD")
			refusedWith(t, set, "project_get", `{"name":"p"}`, "no object of Argo CD")
			refusedWith(t, set, "cluster_service__get", `{"cluster":"c"}`, "no object of Argo CD")
		}
	}
}

// Nothing is planned for an application that was not read.
func TestNothingIsPlannedForNothing(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`null`, `{}`} {
		s := newWritable(t, map[string]string{"applications/guestbook": body})
		if _, text, err := write(t, writer(t, s), "delete_application", `{"name":"guestbook","confirm":"guestbook"}`); err == nil || !strings.Contains(err.Error(), "no name") || s.writes() != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestPlansShowNoPasswords(t *testing.T) {
	t.Parallel()
	s := newWritable(t, map[string]string{"applications/guestbook": `{"metadata":{"name":"guestbook"},"spec":{"project":"p","source":{"repoURL":"https://u:PLANTED@git/x"},"destination":{"server":"https://u:PLANTED@k8s:6443","namespace":"n"}}}`})
	_, text, err := write(t, writer(t, s), "delete_application", `{"name":"guestbook"}`)
	if err != nil || strings.Contains(text, "PLANTED") || !strings.Contains(text, "@k8s:6443 n") {
		t.Errorf("%s, %v", text, err)
	}
}

// A private key in a log comes line by line, between the lines of other pods.
func TestKeysInLogsAreMasked(t *testing.T) {
	t.Parallel()
	const part = "MIIEowIBAAKCAQEAplantedPLANTEDplantedPLANTEDplantedPLANTED0123ab"
	log := entry("p", "loading") + entry("p", "-----BEGIN RSA PRIVATE KEY-----") + entry("p", part) +
		entry("q", "other pod") + entry("p", "2026-01-01 INFO "+part) + entry("p", "warning: still here") + entry("p", "PLANTED==") +
		entry("p", "-----END RSA PRIVATE KEY-----") + entry("p", "loaded") +
		entry("q", "-----BEGIN CERTIFICATE-----") + entry("q", "MIIBcertificate") + entry("q", "-----END CERTIFICATE-----") + endOfLog
	set, _ := played(t, map[string]string{"applications/a/logs": log})
	text, failed := callTool(t, set, nil, "application_service__pod_logs", `{"name":"a","timestamps":false}`)
	want := "p: loading\np: ********\np: ********\nq: other pod\np: ********\np: warning: still here\np: ********\np: -----END RSA PRIVATE KEY-----\np: loaded\n" +
		"q: -----BEGIN CERTIFICATE-----\nq: MIIBcertificate\nq: -----END CERTIFICATE-----\n"
	if failed || text != want {
		t.Errorf("got\n%swant\n%s", text, want)
	}
	// One that does not end is forgotten.
	log = entry("p", "-----BEGIN PRIVATE KEY-----") + strings.Repeat(entry("p", part), 120) + entry("p", "done") + entry("p", part) + endOfLog
	set, _ = played(t, map[string]string{"applications/a/logs": log})
	text, _ = callTool(t, set, nil, "application_service__pod_logs", `{"name":"a","timestamps":false,"tail_lines":1000}`)
	if strings.Count(text, "p: ********\n") != 121 || !strings.HasSuffix(text, "p: done\np: "+part+"\n") {
		t.Errorf("%d masked: %s", strings.Count(text, "********"), text[max(0, len(text)-200):])
	}
}
