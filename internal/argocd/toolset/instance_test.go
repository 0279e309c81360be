package toolset_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/inventory"
	"github.com/plimsoll/plimsoll/internal/argocd/toolset"
)

// lasting has the pages of one listing come from one reading.
func lasting() toolset.Options {
	return toolset.Options{Inventory: inventory.Options{SnapshotTTL: time.Hour}}
}

func TestSeveralInstances(t *testing.T) {
	t.Parallel()
	a, b := newRecordedServer(t), newRecordedServer(t)
	b.instead = func(w http.ResponseWriter, _ *http.Request, _ argocd.Kind) bool {
		w.Header().Set("Content-Type", "application/json")
		_, err := w.Write([]byte(`{"metadata":{},"items":[{"metadata":{"name":"only","namespace":"argocd"},"spec":{"project":"p"}}]}`))
		return err == nil
	}
	set := newToolset(t, toolset.Options{}, clientOf(t, "prod", a.URL, ""), clientOf(t, "Staging", b.URL, ""))
	for arguments, want := range map[string]struct {
		name  string
		total int
	}{
		`{}`:                       {"prod", 819},
		`{"instance":""}`:          {"prod", 819},
		`{"instance":"PROD"}`:      {"prod", 819},
		`{"instance":" staging "}`: {"Staging", 1},
	} {
		got, _ := ask[pageOf](t, set, "list_applications", arguments)
		if got.Instance != want.name || got.Pagination.TotalItems != want.total {
			t.Errorf("%s: %d applications of %q", arguments, got.Pagination.TotalItems, got.Instance)
		}
	}
	// Where to go on is said with the instance.
	got, _ := ask[pageOf](t, set, "project_list", `{"instance":"prod"}`)
	if !strings.Contains(string(got.Next.Arguments), `"instance":"prod"`) {
		t.Errorf("next is %s", got.Next.Arguments)
	}
	for _, tool := range []string{"list_applications", "project_list", "applicationset_list", "cluster_service__list"} {
		refusedWith(t, set, tool, `{"instance":"nosuch"}`, `"nosuch"`, `"prod" (default), "Staging"`)
	}
	refusedWith(t, set, "search_argocd_resources", `{"query":"x","instance":"nosuch"}`, `"nosuch"`)
	if text := set.Instructions(); !strings.Contains(text, `"prod" (default), "Staging"`) {
		t.Errorf("the instructions name no instances: %s", text)
	}
	for _, tool := range set.Tools() {
		if !bytes.Contains(tool.Input, []byte(`"enum":["prod","Staging"]`)) {
			t.Errorf("%s does not tell which instances there are: %s", tool.Name, tool.Input)
		}
	}
}

func TestOneInstance(t *testing.T) {
	t.Parallel()
	set, _ := recordedToolset(t, toolset.Options{})
	for _, tool := range set.Tools() {
		if bytes.Contains(tool.Input, []byte(`"instance"`)) {
			t.Errorf("%s asks for an instance and there is one: %s", tool.Name, tool.Input)
		}
	}
	if got, text := ask[pageOf](t, set, "cluster_service__list", `{}`); got.Instance != "" || strings.Contains(text, `"instance"`) {
		t.Errorf("the answer names the only instance: %.200s", text)
	}
	// A client that has learned the name elsewhere may say it.
	ask[pageOf](t, set, "cluster_service__list", `{"instance":"argo"}`)
}

func TestOptionsThatAreNone(t *testing.T) {
	t.Parallel()
	c := clientOf(t, "a", "https://a.example.com", "")
	for name, o := range map[string]toolset.Options{
		"no Argo CD instance":              {},
		"instance 2 of Argo CD is missing": {Instances: []*argocd.Client{c, nil}},
		`are called "A"`:                   {Instances: []*argocd.Client{c, clientOf(t, "A", "https://b.example.com", "")}},
		"are more than 64":                 {Instances: slices.Repeat([]*argocd.Client{c}, 65)},
		"has the number 9":                 {Instances: []*argocd.Client{c}, UserTokens: 9},
		"has the number -1":                {Instances: []*argocd.Client{c}, UserTokens: -1},
	} {
		if _, err := toolset.New(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUserTokens(t *testing.T) {
	t.Parallel()
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Add(pairs[i], pairs[i+1])
		}
		return h
	}
	const own, bearer = "X-Argocd-Api-Token", "Authorization"
	for _, test := range []struct {
		name   string
		policy toolset.TokenPolicy
		header http.Header
		want   string // the token that Argo CD sees, or after "!" what the error says
	}{
		{"off, none sent", toolset.TokensOff, header(), "configured"},
		{"off, standard streams", toolset.TokensOff, nil, "configured"},
		{"off, one sent", toolset.TokensOff, header(own, "theirs", bearer, "Bearer theirs"), "configured"},
		{"allowed, none sent", toolset.TokensAllow, header(), "configured"},
		{"allowed, standard streams", toolset.TokensAllow, nil, "configured"},
		{"allowed, own header", toolset.TokensAllow, header(own, " theirs "), "theirs"},
		{"allowed, bearer", toolset.TokensAllow, header(bearer, "bearer theirs"), "theirs"},
		{"allowed, both", toolset.TokensAllow, header(own, "first", bearer, "Bearer second"), "first"},
		{"allowed, for the instance", toolset.TokensAllow, header(own, "all", own+"-argo", "this"), "this"},
		{"allowed, for another instance", toolset.TokensAllow, header(own+"-other", "other"), "configured"},
		{"required, bearer", toolset.TokensRequire, header(bearer, "Bearer theirs"), "theirs"},
		{"required, none sent", toolset.TokensRequire, header(), "!your own Argo CD token: have the client send it as header \"X-Argocd-Api-Token\""},
		{"required, standard streams", toolset.TokensRequire, nil, "!standard streams"},
		{"required, basic", toolset.TokensRequire, header(bearer, "Basic c2VjcmV0"), "!no bearer token"},
		{"allowed, basic", toolset.TokensAllow, header(bearer, "Basic c2VjcmV0"), "!no bearer token"},
		{"allowed, empty", toolset.TokensAllow, header(own, ""), "!is empty"},
		{"allowed, of two words", toolset.TokensAllow, header(own, "c2VjcmV0 c2VjcmV0"), "!a byte at 8"},
		{"allowed, two lines", toolset.TokensAllow, header(own, "c2VjcmV0\r\nX: y"), "!a byte at 8"},
		{"allowed, endless", toolset.TokensAllow, header(own, strings.Repeat("c2VjcmV0", 4000)), "!32000 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := lasting()
			o.UserTokens = test.policy
			set, server := recordedToolset(t, o)
			text, failed := callTool(t, set, test.header, "cluster_service__list", `{}`)
			server.mu.Lock()
			defer server.mu.Unlock()
			if words, refused := strings.CutPrefix(test.want, "!"); refused {
				if !failed || !strings.Contains(text, words) || strings.Contains(text, "c2VjcmV0") || len(server.tokens) != 0 {
					t.Errorf("failed %v, the server saw %d lists: %s", failed, len(server.tokens), text)
				}
				return
			}
			if failed || !slices.Equal(server.tokens, []string{"Bearer " + test.want}) {
				t.Errorf("failed %v (%.200s); the server saw %q", failed, text, server.tokens)
			}
		})
	}
}

// What one user may see is never shown to another, also where listings are kept.
func TestUsersDoNotShareListings(t *testing.T) {
	t.Parallel()
	o := lasting()
	o.UserTokens = toolset.TokensAllow
	set, server := recordedToolset(t, o)
	server.instead = func(w http.ResponseWriter, r *http.Request, _ argocd.Kind) bool {
		if r.Header.Get("Authorization") != "Bearer stranger" {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		_, err := w.Write([]byte(`{"metadata":{},"items":null}`))
		return err == nil
	}
	for _, test := range []struct {
		token string
		want  int
	}{{"member", 13}, {"stranger", 0}, {"member", 13}, {"", 13}, {"stranger", 0}} {
		h := http.Header{}
		if test.token != "" {
			h.Set("X-Argocd-Api-Token", test.token)
		}
		text, failed := callTool(t, set, h, "cluster_service__list", `{}`)
		var got pageOf
		if err := json.Unmarshal([]byte(text), &got); failed || err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if got.Pagination.TotalItems != test.want {
			t.Errorf("%q sees %d clusters, want %d", test.token, got.Pagination.TotalItems, test.want)
		}
	}
}
