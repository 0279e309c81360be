package argocd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestRecordedErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	app := func(c *Client) error {
		_, err := c.Get(t.Context(), []string{"applications", "nosuch"}, nil)
		return err
	}
	inProject := func(c *Client) error {
		_, err := c.Get(t.Context(), []string{"applications", "nosuch"}, url.Values{"project": {"p"}})
		return err
	}
	get := func(path ...string) func(c *Client) error {
		return func(c *Client) error {
			_, err := c.Get(t.Context(), path, nil)
			return err
		}
	}
	list := func(kind Kind) func(c *Client) error {
		return func(c *Client) error {
			_, err := c.List(t.Context(), kind, Query{Selector: "=="}, nothing)
			return err
		}
	}
	post := func(c *Client) error {
		_, err := c.Call(t.Context(), http.MethodPost, []string{"applications"}, nil, []byte(`{}`))
		return err
	}
	stream := func(c *Client) error {
		return c.Stream(t.Context(), []string{"stream", "applications"}, nil, nothing)
	}
	const token = "eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl"
	for _, test := range []struct {
		recorded string
		do       func(c *Client) error
		kind     ErrorKind
		code     int
		hint     string // a part of it
		message  string // a part of it
	}{
		{"401-expired", list(Applications), Unauthenticated, 16, "has expired", "token is expired"},
		{"401-bad-signature", list(Applications), Unauthenticated, 16, "another Argo CD", "signature is invalid"},
		{"401-garbage-token", list(Applications), Unauthenticated, 16, "whole JSON web token", "no session information"},
		{"401-no-token", func(c *Client) error { return list(Applications)(c.As("")) }, Unauthenticated, 16, "no token was sent", "no session information"},
		{"401-expired", func(c *Client) error { return list(Applications)(c.As("user-token-1")) }, Unauthenticated, 16, "of this user", ""},
		{"403-admin-nonexistent-app", app, Forbidden, 7, "there is no such application", "permission denied"},
		{"403-admin-nonexistent-app", app, Forbidden, 7, "give its project", ""},
		{"403-reader-nonexistent-app", app, Forbidden, 7, "there is no such application", ""},
		{"app-wrong-namespace", inProject, Forbidden, 7, "there is no such application", ""},
		{"403-reader-project", get("projects", "default"), Forbidden, 7, "role does not allow", "permission denied: projects, get, default"},
		{"403-reader-app", list(Applications), Forbidden, 7, "role does not allow", ""},
		{"cluster-nosuch", get("clusters", "https://10.0.0.1:6443"), Forbidden, 7, "does not exist", ""},
		{"cluster-nosuch-name", get("clusters", "nosuch"), Forbidden, 7, "does not exist", ""},
		{"404-admin-nonexistent-app-with-project", inProject, Missing, 5, "check its name", `"nosuch" not found`},
		{"app-wrong-project", inProject, Missing, 5, "check its name", "not found"},
		{"404-project", get("projects", "nosuch"), Missing, 5, "check its name", "not found"},
		{"appset-nosuch", get("applicationsets", "nosuch"), Missing, 5, "check its name", "not found"},
		{"404-unknown-api", list(Applications), NotArgoCD, 0, "root path", "Not Found"},
		{"404-unknown-path", get("applications", "a", "nosuch"), Missing, 0, "does not know the call", "Not Found"},
		{"400-post-badjson", post, Invalid, 3, "correct the arguments", "unexpected EOF"},
		{"400-post-unknown-project", post, Invalid, 3, "correct the arguments", "is not allowed in project"},
		{"400-post-empty-app", post, Server, 2, "it was not repeated", "resource name may not be empty"},
		{"post-text", post, Invalid, 0, "", "Invalid content type"},
		{"bad-query-type", get("applications", "a", "events"), Invalid, 3, "", "strconv.ParseInt"},
		{"bad-selector", list(Applications), Invalid, 2, "label selector", "unable to parse requirement"},
		{"bad-fields-exclude", list(Applications), Server, 0, "choice of fields", "failed to marshal"},
		{"revmeta", get("applications", "a", "revisions", "abc", "metadata"), Server, 2, "log of argocd-server", "must be resolved"},
		{"stream-401-ndjson", stream, Unauthenticated, 16, "whole JSON web token", "no session information"},
		{"stream-401-sse", stream, Unauthenticated, 16, "whole JSON web token", "no session information"},
		{"stream-500-selector", stream, Invalid, 2, "label selector", "unable to parse requirement"},
	} {
		c := serve(t, Options{Token: StaticToken(token)}, recorded(t, test.recorded))
		e := asError(t, test.do(c))
		if e.Kind != test.kind || e.Code != test.code || !strings.Contains(e.Hint, test.hint) || !strings.Contains(e.Message, test.message) {
			t.Errorf("%s: kind %q, code %d, message %q, hint %q; want %q, %d, %q, %q", test.recorded, e.Kind, e.Code, e.Message, e.Hint, test.kind, test.code, test.message, test.hint)
		}
		if text := e.Error(); strings.Contains(text, token) || !strings.Contains(text, "Argo CD test: ") || e.Status < 400 {
			t.Errorf("%s: status %d, text %q", test.recorded, e.Status, text)
		}
	}
}

// What the server refuses with a code that misleads: the texts are those of its sources (server/application/application.go) and of gRPC.
func TestHintsAgreeWithTheServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status, code int
		text         string
		kind         ErrorKind
		hint         string
	}{
		{403, 7, "cannot sync: blocked by sync window", Conflict, "no role is missing"},
		{403, 7, "Cannot sync: Blocked by sync window", Conflict, "sync windows say which"},
		{400, 3, "max pods to view logs are reached. Please provide more granular query", TooLarge, "resource_name of one workload"},
		{503, 14, `connection error: desc = "transport: Error while dialing: dial tcp 10.43.7.19:8081: connect: connection refused"`, Server, "argocd-repo-server"},
		{500, 2, `failed to get manifests: rpc error: code = Unavailable desc = name resolver error: produced zero addresses argocd-repo-server:8081`, Server, "are not at fault"},
		{500, 2, "dial tcp: lookup argocd-redis on 10.43.0.10:53: no such host", Server, "argocd-redis"},
		{500, 2, `Get "https://10.40.0.1:6443/api": dial tcp 10.40.0.1:6443: i/o timeout`, Server, "the cluster that is named"},
		{400, 9, `error resolving repo revision: rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:8081: connect: connection refused"`, Server, "argocd-repo-server"},
		{400, 9, `error resolving repo revision: rpc error: code = Unknown desc = failed to list refs: Get "https://git.example.com:8081/x.git/info/refs?service=git-upload-pack": dial tcp 10.1.2.3:8081: connect: connection refused`, Server, "the host of the repository"},
		{400, 3, "Unable to terminate operation. No operation is in progress", Conflict, "nothing runs"},
		{400, 9, "another operation is already in progress", Conflict, "wait for the operation"},
		{400, 9, "rollback cannot be initiated when auto-sync is enabled", Conflict, "turn it off for this application"},
		{400, 9, "Cannot sync to 1a2b3c: auto-sync currently set to main", Conflict, "leave the revision out"},
		{400, 9, "application is deleting", Conflict, "wait until it is gone"},
		{400, 3, "project is referenced by 3 applications", Conflict, "move them to another one"},
		{400, 3, "application argocd/a does not have deployment with id 9", Invalid, "correct the arguments"},
		{403, 7, "permission denied", Forbidden, "role does not allow"},
		{503, 14, "no healthy upstream", Server, "is not there"},
	} {
		server := serve(t, Options{Retries: -1}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(c.status)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": c.text, "message": c.text, "code": c.code})
		})
		_, err := server.Call(t.Context(), http.MethodPost, []string{"applications", "a", "sync"}, nil, []byte(`{}`))
		if e := asError(t, err); e.Kind != c.kind || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%d %s: kind %q, hint %q; want %q, %q", c.status, c.text, e.Kind, e.Hint, c.kind, c.hint)
		}
	}
}

func TestAPageForPeopleIsNoArgoCD(t *testing.T) {
	t.Parallel()
	login := "<!doctype html><html><head><title>Sign in &mdash; Corp\x1b[31m</title></head></html>"
	for name, handler := range map[string]http.HandlerFunc{
		"with its type": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprint(w, login)
		},
		"as JSON": answers(login),
		"with 403": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w, login)
		},
		"with 404": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, login)
		},
	} {
		c := serve(t, Options{}, handler)
		_, err := c.List(t.Context(), Projects, Query{}, nothing)
		_, err2 := c.Get(t.Context(), []string{"session", "userinfo"}, nil)
		err3 := c.Stream(t.Context(), []string{"stream", "applications"}, nil, nothing)
		_, err4 := c.Version(t.Context())
		for _, err := range []error{err, err2, err3, err4} {
			e := asError(t, err)
			if e.Kind != NotArgoCD || !strings.Contains(e.Hint, c.URL()) || strings.Contains(e.Error(), "\x1b") {
				t.Errorf("%s: %v (%s)", name, err, e.Kind)
			}
		}
	}
	c := serve(t, Options{Retries: -1}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		_, _ = fmt.Fprint(w, "<html><title>502 Bad Gateway</title></html>")
	})
	if _, err := c.List(t.Context(), Projects, Query{}, nothing); asError(t, err).Kind != Server {
		t.Errorf("a proxy without a server: %v", err)
	}
}

func TestNamesWithASlashSayWhatToSend(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"applications": "namespace", "clusters": "the cluster's name", "repositories": "a proxy"} {
		c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
		_, err := c.Get(t.Context(), []string{path, "a/b c"}, nil)
		if e := asError(t, err); e.Kind != Missing || !strings.Contains(e.Hint, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAServerThatIsAnotherOne(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`[]`, `"ok"`, `42`, `{"apiVersion":"v1"}`, `{"items":{}}`, `{"items":"none"}`, `{"items":[],"items":[]}`, `ok`, `default backend - 404`} {
		c := serve(t, Options{}, answers(body))
		if _, err := c.List(t.Context(), Clusters, Query{}, nothing); asError(t, err).Kind != NotArgoCD {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestTheServersOwnBoundIsNotRepeated(t *testing.T) {
	t.Parallel()
	calls := 0
	c := offline(t, Options{}, func(r *http.Request) (*http.Response, error) {
		calls++
		return response(r, http.StatusTooManyRequests, `{"error":"x","code":8,"message":"grpc: received message larger than max (300 vs. 200)"}`), nil
	})
	_, err := c.List(t.Context(), Clusters, Query{}, nothing)
	if e := asError(t, err); e.Kind != TooLarge || !strings.Contains(e.Hint, "ARGOCD_GRPC_MAX_SIZE_MB") || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

func TestErrorsCanBeAskedFor(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("outside: %w", &Error{Kind: Timeout, Message: "m", Err: context.DeadlineExceeded})
	if !errors.Is(err, &Error{Kind: Timeout}) || errors.Is(err, &Error{Kind: Server}) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error("errors.Is does not tell the kinds apart")
	}
}

func TestCleanTextsAreShortAndPrintable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\nb\tc":                         "a b c",
		"\x1b[2Jgone\x00":                 "[2Jgone",
		"https://me:pw@git.example/x.git": "https://***@git.example/x.git",
		"a b@c https://h/x?a=b@c":         "a b@c https://h/x?a=b@c",
		"\xff\xfe":                        "\uFFFD",
		"abc\u202edef":                    "abcdef",
		"denied for Bearer s3cr3tS3CR3Ts3cr3t1, token=s3cr3t":         "denied for Bearer ********, token=********",
		"no session eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.abcdefghijk": "no session ********",
		"invalid session: token: signature is invalid":                "invalid session: token: signature is invalid",
	} {
		if got := safeText(in, maxMessage); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got := safeText(strings.Repeat("ä", 5000), maxMessage); len(got) > maxMessage || !utf8.ValidString(got) {
		t.Errorf("%d bytes", len(got))
	}
}

func FuzzRefusal(f *testing.F) {
	for _, s := range []string{
		`{"error":"permission denied","code":7,"message":"permission denied"}`, `{"error": "failed to marshal error message"}`,
		`{"error":{"grpc_code":16,"http_code":401,"message":"no session information","http_status":"Unauthorized"}}`,
		"data: {\"error\":{}} \n\n", "Not Found\n", "<html><title>x</title>", `{"error":[1],"code":"x"}`, "", "\xff://a@b",
	} {
		f.Add([]byte(s), 401)
		f.Add([]byte(s), 500)
	}
	c, err := New(Options{URL: "https://argocd.example.com"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		if status < 300 || status > 599 {
			return
		}
		u := &url.URL{Scheme: "https", Host: "argocd.example.com"}
		resp := &http.Response{StatusCode: status, Header: http.Header{"Location": {string(body)}}, Request: &http.Request{URL: u}}
		e := c.explainRefusal(request{method: http.MethodGet, path: []string{"applications"}}, u, resp, body, "a-secret-token")
		if e.Kind == "" || len(e.Message) > maxMessage || e.Message == "" && http.StatusText(status) != "" {
			t.Fatalf("kind %q, %d bytes of message", e.Kind, len(e.Message))
		}
		for _, r := range e.Error() {
			if !unicode.IsPrint(r) && unicode.IsControl(r) {
				t.Fatalf("%q is not printable", e.Error())
			}
		}
	})
}
