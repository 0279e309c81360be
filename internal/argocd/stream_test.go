package argocd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func streamed(t *testing.T, o Options, body string, query url.Values) ([]string, error) {
	t.Helper()
	c := serve(t, o, answers(body))
	var got []string
	err := c.Stream(t.Context(), []string{"applications", "a", "logs"}, query, func(result []byte) error {
		got = append(got, string(result))
		return nil
	})
	return got, err
}

func TestAStreamGivesResults(t *testing.T) {
	t.Parallel()
	long := `{"content":"` + strings.Repeat("x", 50_000) + `"}`
	for name, body := range map[string]string{
		"lines":      `{"result":{"content":"a"}}` + "\n" + `{"result":` + long + "}\n",
		"no newline": `{"result":{"content":"a"}}` + "\n" + `{"result":` + long + "}",
		"events":     ":\n\ndata: " + `{"result":{"content":"a"}}` + " \n\ndata: " + `{"result":` + long + "} \n\n",
		"CRLF":       `{"result":{"content":"a"}}` + "\r\n\r\n" + `{"result":` + long + "}\r\n",
	} {
		got, err := streamed(t, Options{}, body, nil)
		if err != nil || !slices.Equal(got, []string{`{"content":"a"}`, long}) {
			t.Errorf("%s: %.80q, %v", name, got, err)
		}
	}
}

func TestAStreamThatGoesWrong(t *testing.T) {
	t.Parallel()
	const first = `{"result":{"n":1}}` + "\n"
	for body, want := range map[string]ErrorKind{
		first + `{"error":{"grpc_code":7,"http_code":403,"message":"permission denied","http_status":"Forbidden"}}`:          Forbidden,
		first + `{"error":{"grpc_code":5,"http_code":404,"message":"pods \"x\" not found","http_status":"Not Found"}}`:       Missing,
		first + `{"error":{"grpc_code":16,"http_code":401,"message":"token is expired","http_status":"Unauthorized"}}`:       Unauthenticated,
		first + `{"error":{"grpc_code":2,"http_code":500,"message":"container \"x\" is waiting to start: PodInitializing"}}`: Server,
		first + `{"error":"x","code":2,"message":"boom"}`:                                                                    Server,
		first + `{"result":{"n":`: Broken,
		first + `<html>`:          NotArgoCD,
		first + `[]`:              NotArgoCD,
		first + `{}`:              NotArgoCD,
		first + `{"result":1} x`:  Broken,
		first + `{"result":"` + strings.Repeat("x", 5000): TooLarge,
	} {
		got, err := streamed(t, Options{MaxObject: 4000}, body, nil)
		if e := asError(t, err); e.Kind != want || len(got) != 1 {
			t.Errorf("%.120q: %v (%s) after %d", body, err, e.Kind, len(got))
		}
	}
	own := errors.New("enough")
	c := serve(t, Options{}, answers(first+first))
	if err := c.Stream(t.Context(), []string{"x"}, nil, func([]byte) error { return own }); err != own {
		t.Error(err)
	}
	c = serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, first)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	if err := c.Stream(t.Context(), []string{"x"}, nil, nothing); asError(t, err).Kind != Broken {
		t.Errorf("a connection that ends: %v", err)
	}
}

func TestAStreamThatFollowsMayBeIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := slow(t, 10*time.Minute, "{\"result\":1}\n", "{\"result\":2}\n")
		n := 0
		count := func([]byte) error { n++; return nil }
		for _, try := range []struct {
			path  []string
			query url.Values
		}{{[]string{"applications", "a", "logs"}, url.Values{"follow": {"true"}}}, {[]string{"stream", "applications"}, nil}} {
			if n = 0; c.Stream(t.Context(), try.path, try.query, count) != nil || n != 2 {
				t.Errorf("%v: %d results", try, n)
			}
		}
		err := c.Stream(t.Context(), []string{"applications", "a", "logs"}, nil, count)
		if asError(t, err).Kind != Timeout {
			t.Errorf("without follow: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 11*time.Minute)
		defer cancel()
		n = 0
		err = c.Stream(ctx, []string{"x"}, url.Values{"follow": {"true"}}, count)
		if !errors.Is(err, context.DeadlineExceeded) || n != 1 {
			t.Errorf("at the end of the caller's time: %v after %d", err, n)
		}
	})
}

func TestGetReadsOneObject(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]ErrorKind{
		` {"a":1} `: "", `[1]`: "", `{"a":1`: Broken, `{"a":1}{`: Broken, ``: Broken, `<p>`: NotArgoCD,
		`{"a":"` + strings.Repeat("x", 1000) + `"}`: TooLarge,
	} {
		for _, chunked := range []bool{true, false} {
			c := serve(t, Options{MaxObject: 1000}, func(w http.ResponseWriter, r *http.Request) {
				if chunked {
					_ = http.NewResponseController(w).Flush()
				}
				_, _ = io.WriteString(w, body)
			})
			got, err := c.Get(t.Context(), []string{"x"}, nil)
			if want == "" {
				if err != nil || string(got) != strings.TrimSpace(body) {
					t.Errorf("%s: %s, %v", body, got, err)
				}
			} else if e := asError(t, err); e.Kind != want || want == TooLarge && !strings.Contains(e.Message, "1000 B") && !strings.Contains(e.Message, "0.977 KiB") {
				t.Errorf("%.40s: %v (%s)", body, err, e.Kind)
			}
		}
	}
}

func TestCallSendsOnce(t *testing.T) {
	t.Parallel()
	var body []byte
	c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_, _ = io.WriteString(w, r.Method)
	})
	if got, err := c.Call(t.Context(), http.MethodDelete, []string{"x"}, nil, nil); err != nil || len(got) != 0 {
		t.Errorf("%s, %v", got, err)
	}
	_, err := c.Call(t.Context(), http.MethodPatch, []string{"x"}, nil, []byte(`{"a":1}`))
	if e := asError(t, err); e.Kind != Broken || string(body) != `{"a":1}` || !strings.Contains(e.Op, "PATCH x") {
		t.Errorf("%s, %v", body, err)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls, says := 0, `{"Version":"v3.5.1+109ca7c"}`
		c := offline(t, Options{}, func(r *http.Request) (*http.Response, error) {
			calls++
			return response(r, 200, says), nil
		})
		for range 3 {
			if v, err := c.As("u").Version(t.Context()); err != nil || v != (Version{3, 5, 1, "v3.5.1+109ca7c"}) {
				t.Errorf("%v, %v", v, err)
			}
		}
		says = `{"Version":"v2.10.0"}`
		time.Sleep(versionAge + 1)
		if v, err := c.Version(t.Context()); err != nil || v.Minor != 10 || calls != 2 {
			t.Errorf("%v, %v, %d calls", v, err, calls)
		}
		time.Sleep(versionAge + 1)
		says = `{"Version":"latest"}`
		if v, err := c.Version(t.Context()); asError(t, err).Kind != NotArgoCD {
			t.Errorf("%v, %v", v, err)
		}
		says = `["x"]`
		time.Sleep(versionAge + 1)
		if v, err := c.Version(t.Context()); asError(t, err).Kind != NotArgoCD {
			t.Errorf("%v, %v", v, err)
		}
	})
	for _, text := range []string{"", "v", "v3", "3.x", "v3.5.1.2", "v-1.2", "v99999.1.1"} {
		if v, err := ParseVersion(text); err == nil {
			t.Errorf("%q is %v", text, v)
		}
	}
}

// Who leaves while the version is asked for does not make it an unknown one for the others.
func TestACallThatLeftTellsNothingOfTheVersion(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	fields := ""
	c := offline(t, Options{}, func(r *http.Request) (*http.Response, error) {
		if ctx.Err() == nil {
			cancel()
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		fields = r.URL.Query().Get("fields")
		return response(r, 200, `{"Version":"v3.5.1","items":[{}]}`), nil
	})
	q := Query{Fields: []string{"status.sync.revision"}}
	if _, err := c.List(ctx, Applications, q, nothing); asError(t, err).Kind != Broken {
		t.Errorf("%v", err)
	}
	if _, err := c.List(t.Context(), Applications, q, nothing); err != nil || fields != "metadata.resourceVersion,items.status.sync.revision" {
		t.Errorf("%v, fields %q", err, fields)
	}
}

func TestFieldsOfAVersion(t *testing.T) {
	t.Parallel()
	old, mid, recent := Version{Major: 2, Minor: 10}, Version{Major: 3, Minor: 2}, Version{Major: 3, Minor: 5}
	for _, test := range []struct {
		kind   Kind
		v      Version
		fields []string
		want   string
	}{
		{Applications, recent, []string{"spec.source", "metadata.name"}, "items.metadata.name,items.spec.source"},
		{Applications, old, []string{"spec.source", "metadata.name", "spec.project"}, "items.metadata.name,items.spec"},
		{Applications, recent, []string{"spec.source", "spec", "spec.source.helm"}, "items.spec"},
		{Applications, recent, []string{"spec.source.repoURL"}, "items.spec.source"},
		{Applications, old, []string{"status.sync.revision", "metadata.name", "status.sourceHydrator.currentOperation"}, "items.metadata.name"},
		{Applications, mid, []string{"status.sync.revision", "status.sourceHydrator"}, "items.status.sourceHydrator"},
		{Applications, Version{}, []string{"status.health.status"}, "items.status.health"},
		{Applications, recent, []string{"metadata.name", "status.conditions"}, ""},
		{Applications, recent, []string{"-metadata.name"}, ""},
		{Applications, recent, nil, ""},
		{Projects, old, []string{"spec.roles.name", "spec.description"}, "items.spec.description,items.spec.roles.name"},
		{Clusters, recent, []string{"name"}, ""},
		{ApplicationSets, recent, []string{"metadata.name"}, ""},
	} {
		if test.want != "" {
			test.want = "metadata.resourceVersion," + test.want
		}
		if got := fieldsParameter(test.kind, test.v, test.fields); got != test.want {
			t.Errorf("%s at %v, %v: %q, want %q", test.kind, test.v, test.fields, got, test.want)
		}
	}
	for _, v := range []Version{old, mid, recent} {
		for _, kind := range []Kind{Applications, Projects} {
			if sent := fieldsParameter(kind, v, SearchFields(kind)); sent == "" || strings.Contains(sent, "spec.") && v != recent && kind == Applications {
				t.Errorf("%s at %v: %s", kind, v, sent)
			}
		}
	}
}

// The recorded list with fields has all that was asked for, so every path of the table is
// one that the server honours.
func TestFieldsAreInTheRecordedList(t *testing.T) {
	t.Parallel()
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(unpacked(t, "applications-fields"), &list); err != nil {
		t.Fatal(err)
	}
	has := func(path string) bool {
		return slices.ContainsFunc(list.Items, func(item json.RawMessage) bool {
			for part := range strings.SplitSeq(path, ".") {
				var m map[string]json.RawMessage
				if json.Unmarshal(item, &m) != nil || m[part] == nil {
					return false
				}
				item = m[part]
			}
			return true
		})
	}
	for _, path := range SearchFields(Applications) {
		// What that list was not asked for, or no object of it has.
		if !slices.Contains([]string{"metadata.deletionTimestamp", "spec.sourceHydrator", "status.sourceHydrator", "status.operationState.finishedAt"}, path) && !has(path) {
			t.Errorf("%s is in no object", path)
		}
	}
}

func TestAServerThatTakesNoFieldsGivesWholeObjects(t *testing.T) {
	t.Parallel()
	for _, version := range []string{`{"Version":"v3.5.1"}`, `{"Version":"dev"}`, ``} {
		c := offline(t, Options{}, func(r *http.Request) (*http.Response, error) {
			switch {
			case r.URL.Path == "/api/version" && version == "":
				return response(r, 403, ""), nil
			case r.URL.Path == "/api/version":
				return response(r, 200, version), nil
			case r.URL.Query().Has("fields"):
				return response(r, 500, `{"error": "failed to marshal error message"}`), nil
			}
			return response(r, 200, `{"items":[{}]}`), nil
		})
		info, err := c.List(t.Context(), Applications, Query{Fields: SummaryFields(Applications)}, nothing)
		if err != nil || info.Narrowed || info.Items != 1 {
			t.Errorf("%s: %+v, %v", version, info, err)
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add([]byte("{\"result\":{\"a\":1}}\n{\"error\":{\"grpc_code\":5,\"http_code\":404,\"message\":\"m\"}}\n"))
	f.Add([]byte(":\n\ndata: {\"result\":[]} \n\n"))
	f.Add([]byte("{\"result\":1}\n{\"resu"))
	c, err := New(Options{URL: "https://argocd.example.com", MaxObject: 1 << 12})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := request{op: "stream", method: http.MethodGet}
		a := &answer{ctx: t.Context(), status: 200}
		lines := lineReader{r: newSlowBuffer(body), max: 1 << 12}
		for {
			line, err := lines.nextLine()
			if err != nil {
				return
			}
			if len(line) > 1<<12 || bytes.IndexByte(bytes.TrimSuffix(line, []byte("\n")), '\n') >= 0 {
				t.Fatalf("%q is no line", line)
			}
			err = c.handleEvent(r, a, line, func(result []byte) error {
				if !json.Valid(result) {
					t.Fatalf("%q is no JSON", result)
				}
				return nil
			})
			if err != nil {
				return
			}
		}
	})
}
