package simulator

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// recorded is an answer of the real server.
type recorded struct {
	Status  int
	Headers map[string]string
	Body    string
}

const (
	adminToken  = "eyJhbGciOiJIUzI1NiJ9.admin.sig"
	readerToken = "eyJhbGciOiJIUzI1NiJ9.reader.sig"
)

// What differs from one installation, or moment, to another.
var different = regexp.MustCompile(`billing-admin-dev|"resourceVersion":"\d+"|http://127\.0\.0\.1:\d+`)

func alike(body string) string {
	return different.ReplaceAllStringFunc(body, func(found string) string {
		if found[0] == 'b' {
			return "APP"
		}
		return found[:8]
	})
}

func TestAnswersAreTheRecordedOnes(t *testing.T) {
	t.Parallel()
	raw := testfile.Read(t, "testdata/answers.json")
	var all map[string]recorded
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	admin := map[string]string{"Authorization": "Bearer " + adminToken}
	reader := map[string]string{"Authorization": "Bearer " + readerToken}
	with := func(h map[string]string, more ...string) map[string]string {
		m := map[string]string{}
		maps.Copy(m, h)
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	const app = "/api/v1/applications/billing-admin-dev"
	asked := map[string]asking{
		"200-cookie-token-version":               {path: "/api/v1/account", header: map[string]string{"Cookie": "argocd.token=" + adminToken}},
		"400-post-badjson":                       {method: "POST", path: "/api/v1/applications", body: `{"metadata":`, header: admin},
		"400-post-empty-app":                     {method: "POST", path: "/api/v1/applications", body: `{}`, header: admin},
		"400-post-unknown-project":               {method: "POST", path: "/api/v1/applications", body: `{"metadata":{"name":"x"},"spec":{"project":"nosuch"}}`, header: admin},
		"401-bad-signature":                      {path: "/api/v1/applications", header: map[string]string{"Authorization": "Bearer a.b.c"}},
		"401-cookie-bad":                         {path: "/api/v1/applications", header: map[string]string{"Cookie": "argocd.token=garbage"}},
		"401-garbage-token":                      {path: "/api/v1/applications", header: map[string]string{"Authorization": "Bearer garbage"}},
		"401-no-token":                           {path: "/api/v1/applications"},
		"403-admin-nonexistent-app":              {path: "/api/v1/applications/nosuch", header: admin},
		"403-reader-app":                         {path: app, header: reader},
		"403-reader-nonexistent-app":             {path: "/api/v1/applications/nosuch", header: reader},
		"403-reader-project":                     {path: "/api/v1/projects/default", header: reader},
		"404-admin-nonexistent-app-with-project": {path: "/api/v1/applications/nosuch?project=default", header: admin},
		"404-project":                            {path: "/api/v1/projects/nosuch", header: admin},
		"404-unknown-api":                        {path: "/api/v1/nosuch", header: admin},
		"404-unknown-path":                       {path: "/nosuch"},
		"anon-version":                           {path: "/api/version"},
		"app-wrong-namespace":                    {path: app + "?appNamespace=elsewhere", header: admin},
		"app-wrong-project":                      {path: app + "?project=default", header: admin},
		"appset-nosuch":                          {path: "/api/v1/applicationsets/nosuch", header: admin},
		"bad-fields-exclude":                     {path: "/api/v1/applications?fields=-items.metadata.managedFields", header: admin},
		"bad-query-type":                         {path: app + "/logs?tailLines=abc", header: admin},
		"bad-selector":                           {path: "/api/v1/applications?selector=%3Dbad", header: admin},
		"cluster-nosuch":                         {path: "/api/v1/clusters/https%3A%2F%2Fnosuch%3A6443", header: admin},
		"cluster-nosuch-name":                    {path: "/api/v1/clusters/nosuch?id.type=name", header: admin},
		"fields-spec-overlap":                    {path: "/api/v1/applications?fields=items.spec,items.spec.project", header: admin},
		"head":                                   {method: "HEAD", path: "/api/v1/applications", header: admin},
		"healthz":                                {path: "/healthz"},
		"healthz-full":                           {path: "/healthz?full=true"},
		"method-not-allowed":                     {method: "DELETE", path: "/api/v1/applications", header: admin},
		"notfound-spa":                           {path: "/applications"},
		"options":                                {method: "OPTIONS", path: "/api/v1/applications", header: admin},
		"post-no-content-type":                   {method: "POST", path: "/api/v1/applications", header: admin},
		"post-text":                              {method: "POST", path: "/api/v1/applications", body: "x", header: with(admin, "Content-Type", "text/plain")},
		"reader-appsets":                         {path: "/api/v1/applicationsets?projects=nosuch", header: reader},
		"reader-clusters":                        {path: "/api/v1/clusters", header: reader},
		"reader-repos":                           {path: "/api/v1/repositories", header: reader},
		"syncwindows":                            {path: app + "/syncwindows", header: admin},
		"trailing-slash":                         {path: "/api/v1/applications/", header: admin},
		"repos.headers":                          {path: "/api/v1/repositories", header: admin},
	}
	// Asked elsewhere, of objects that only the recorded installation has, or not answered: nothing here watches.
	elsewhere := []string{"401-expired", "reader-list", "reader-projects", "upper-query-project", "stream.headers", "stream-sse.headers", "stream-401-ndjson", "stream-401-sse", "stream-500-selector"}
	for _, name := range elsewhere {
		if _, ok := all[name]; !ok {
			t.Errorf("no answer %s was recorded", name)
		}
		delete(all, name)
	}
	o := Options{
		Token:  adminToken,
		Tokens: map[string]Access{readerToken: {Name: "reader", Projects: []string{"payments-core"}}},
	}
	// The recorded application is in a project of its own, without sync windows.
	for ; ; o.Seed++ {
		s := sim(t, o)
		f, ok := s.findObject(applications, "argocd", "billing-admin-dev")
		if !ok {
			t.Fatal("the application the recorded answers are about is not generated")
		}
		if f.project != "default" && len(s.syncWindowsOf(f.project)) == 0 {
			break
		}
	}
	_, srv := serving(t, o)
	for name, want := range all {
		t.Run(name, func(t *testing.T) {
			a, ok := asked[name]
			if !ok {
				t.Fatal("recorded, and nobody asks for it")
			}
			got := ask(t, srv, a)
			if got.status != want.Status {
				t.Errorf("status %d, recorded %d: %.400s", got.status, want.Status, got.body)
			}
			if want.Body != "" && alike(string(got.body)) != alike(want.Body) {
				t.Errorf("got      %.400s\nrecorded %s", got.body, want.Body)
			}
			checkHeaders(t, got, want, alike(want.Body) == want.Body)
		})
	}
}

func checkHeaders(t *testing.T, got answered, want recorded, length bool) {
	t.Helper()
	for key, value := range want.Headers {
		switch key {
		case "Transfer-Encoding":
			if !got.chunks {
				t.Errorf("not in chunks, as was recorded")
			}
		case "Content-Length":
			if length && want.Body != "" && got.header.Get(key) != value {
				t.Errorf("%s: %q, recorded %q", key, got.header.Get(key), value)
			}
		default:
			if got.header.Get(key) != value {
				t.Errorf("%s: %q, recorded %q", key, got.header.Get(key), value)
			}
		}
	}
	for key := range got.header {
		if _, ok := want.Headers[key]; !ok && key != "Date" && key != "Content-Length" {
			t.Errorf("%s: %q, recorded none", key, got.header.Get(key))
		}
	}
}

func TestSmallAnswersAreTheRecordedOnes(t *testing.T) {
	t.Parallel()
	_, srv := serving(t, Options{})
	for path, file := range map[string]string{
		"/api/v1/account":                         "accounts.json",
		"/api/v1/applications?projects=nosuch":    "empty-list.json",
		"/api/v1/applicationsets?projects=nosuch": "empty-list.json",
	} {
		want := testfile.Read(t, "testdata/"+file)
		got := ask(t, srv, asking{path: path})
		if got.status != http.StatusOK || alike(string(got.body)) != alike(string(want)) {
			t.Errorf("%s: %d\n got     %s\nrecorded %s", path, got.status, got.body, want)
		}
	}
}

func TestExpiredToken(t *testing.T) {
	t.Parallel()
	s, srv := serving(t, Options{Token: adminToken, Faults: Faults{Expired: true}})
	const want = `{"error":"invalid session: token has invalid claims: token is expired","code":16,"message":"invalid session: token has invalid claims: token is expired"}`
	a := asking{path: "/api/v1/applications", header: map[string]string{"Authorization": "Bearer " + adminToken}}
	if got := ask(t, srv, a); got.status != http.StatusUnauthorized || string(got.body) != want {
		t.Errorf("%d %s", got.status, got.body)
	}
	s.Set(Faults{})
	if got := ask(t, srv, a); got.status != http.StatusOK {
		t.Errorf("after the fault: %d %s", got.status, got.body)
	}
}
