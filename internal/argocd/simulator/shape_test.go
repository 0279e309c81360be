package simulator

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

// recordedBody returns the recorded list of a kind.
func recordedBody(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open("../testdata/recorded/" + name + ".json.gz")
	if err != nil {
		t.Skipf("the recorded lists are not here: %v", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// free says that the keys of an object are data.
func free(at string) bool {
	switch at[strings.LastIndexByte(at, '.')+1:] {
	case "labels", "annotations", "matchLabels", "commonLabels", "fieldsV1", "valuesObject", "values", "jwtTokensByRole":
		return true
	}
	return false
}

// single skips what compares megabytes in one goroutine.
func single(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("nothing runs beside it, and with the race detector it takes a minute")
	}
}

// paths counts all paths of a value with the types at their ends.
func paths(v any, at string, all map[string]int) {
	switch v := v.(type) {
	case map[string]any:
		all[at+"{}"]++
		data := free(at)
		for key, below := range v {
			if strings.HasSuffix(at, ".fieldsV1") {
				continue
			}
			if data {
				key = "*"
			}
			paths(below, at+"."+key, all)
		}
	case []any:
		all[at+"[]"]++
		for _, below := range v {
			paths(below, at+"[]", all)
		}
	default:
		kind := " null"
		switch v.(type) {
		case string:
			kind = " string"
		case float64:
			kind = " number"
		case bool:
			kind = " bool"
		}
		all[at+kind]++
	}
}

func TestListsHaveTheRecordedShape(t *testing.T) {
	t.Parallel()
	single(t)
	s := sim(t, Options{})
	for _, name := range []string{"applications", "projects", "applicationsets", "clusters", "repositories"} {
		want, got := map[string]int{}, map[string]int{}
		var real, made any
		body := recordedBody(t, name)
		w := do(s, http.MethodGet, "/api/v1/"+name, "")
		if err := json.Unmarshal(body, &real); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil {
			t.Fatal(err)
		}
		paths(real, "", want)
		paths(made, "", got)
		for path := range got {
			if want[path] == 0 {
				t.Errorf("%s: %s was never recorded", name, path)
			}
		}
		a, b := len(itemsOf(t, body)), len(itemsOf(t, w.Body.Bytes()))
		if a != b {
			t.Errorf("%s: %d objects, recorded %d", name, b, a)
		}
		for path, n := range want {
			// What is met less often than in one object of fifty may be missing.
			if got[path] == 0 && n > a/50 {
				t.Errorf("%s: %s was recorded %d times and is never generated", name, path, n)
			}
		}
		if a, b := len(body), w.Body.Len(); b < a*85/100 || b > a*115/100 {
			t.Errorf("%s: %d bytes, recorded %d", name, b, a)
		}
	}
}

// keysInOrder returns the keys of an object in their order.
func keysInOrder(t *testing.T, raw []byte) []string {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key.(string))
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

// Keys come in the order of the server's structs: what reads on the way may rely on it no
// more than on the server, but no less.
func TestKeysHaveTheRecordedOrder(t *testing.T) {
	t.Parallel()
	single(t)
	s := sim(t, Options{})
	for _, name := range []string{"applications", "projects", "applicationsets", "clusters"} {
		order := map[string][]string{}
		var real, made struct{ Items []json.RawMessage }
		if err := json.Unmarshal(recordedBody(t, name), &real); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(do(s, http.MethodGet, "/api/v1/"+name, "").Body.Bytes(), &made); err != nil {
			t.Fatal(err)
		}
		follow := map[[2]string]bool{}
		each := func(items []json.RawMessage, do func(at string, keys []string)) {
			for _, item := range items {
				do("", keysInOrder(t, item))
				var parts map[string]json.RawMessage
				if err := json.Unmarshal(item, &parts); err != nil {
					t.Fatal(err)
				}
				for _, part := range []string{"metadata", "spec", "status", "info"} {
					if parts[part] != nil {
						do(part, keysInOrder(t, parts[part]))
					}
				}
			}
		}
		each(real.Items, func(at string, keys []string) {
			for i, a := range keys {
				for _, b := range keys[i+1:] {
					follow[[2]string{at + "." + a, at + "." + b}] = true
				}
			}
		})
		each(made.Items, func(at string, keys []string) {
			for i, a := range keys {
				for _, b := range keys[i+1:] {
					ab, ba := [2]string{at + "." + a, at + "." + b}, [2]string{at + "." + b, at + "." + a}
					if follow[ba] && !follow[ab] && !slices.Contains(order[at], a+b) {
						order[at] = append(order[at], a+b)
						t.Errorf("%s: %s.%s before %s, recorded the other way round", name, at, a, b)
					}
				}
			}
		})
	}
}

// Special cases are as frequent as they were recorded, within a third.
func TestSpecialCasesAreAsFrequent(t *testing.T) {
	t.Parallel()
	single(t)
	cases := map[string]func(a map[string]any) bool{
		"several sources":     func(a map[string]any) bool { return lookup(a, "spec", "sources") != nil },
		"by name":             func(a map[string]any) bool { return text(a, "spec", "destination", "name") != "" },
		"helm values":         func(a map[string]any) bool { return text(a, "spec", "source", "helm", "values") != "" },
		"helm values, object": func(a map[string]any) bool { return lookup(a, "spec", "source", "helm", "valuesObject") != nil },
		"chart":               func(a map[string]any) bool { return text(a, "spec", "source", "chart") != "" },
		"healthy":             func(a map[string]any) bool { return text(a, "status", "health", "status") == "Healthy" },
		"degraded":            func(a map[string]any) bool { return text(a, "status", "health", "status") == "Degraded" },
		"out of sync":         func(a map[string]any) bool { return text(a, "status", "sync", "status") == "OutOfSync" },
		"failed":              func(a map[string]any) bool { return text(a, "status", "operationState", "phase") == "Failed" },
		"conditions":          func(a map[string]any) bool { return lookup(a, "status", "conditions") != nil },
		"owned":               func(a map[string]any) bool { return lookup(a, "metadata", "ownerReferences") != nil },
		"default project":     func(a map[string]any) bool { return text(a, "spec", "project") == "default" },
		"30 resources": func(a map[string]any) bool {
			r, _ := lookup(a, "status", "resources").([]any)
			return len(r) >= 30
		},
	}
	real := itemsOf(t, recordedBody(t, "applications"))
	made := items(t, sim(t, Options{Applications: 1638}), "/api/v1/applications")
	share := func(all []map[string]any, is func(map[string]any) bool) float64 {
		n := 0
		for _, a := range all {
			if is(a) {
				n++
			}
		}
		return float64(n) / float64(len(all))
	}
	for name, is := range cases {
		want, got := share(real, is), share(made, is)
		if got < want*2/3 || got > want*4/3 {
			t.Errorf("%s: %.1f %%, recorded %.1f %%", name, got*100, want*100)
		}
	}
	never := slices.ContainsFunc(made, func(a map[string]any) bool {
		return text(a, "status", "sync", "status") == "" && lookup(a, "status", "health", "status") == nil && lookup(a, "status", "resources") == nil
	})
	if !never {
		t.Error("no application that was never reconciled")
	}
}

// With fields the answer is a map and its keys are sorted; the parts are as in the whole
// object, and what the application does not have is null or missing as it was recorded.
func TestFieldsAreTheRecordedOnes(t *testing.T) {
	t.Parallel()
	single(t)
	const query = "?fields=items.metadata.name,items.metadata.namespace,items.metadata.labels,items.metadata.annotations,items.metadata.creationTimestamp," +
		"items.spec,items.status.sync.status,items.status.sync.revision,items.status.health,items.status.operationState.phase,items.status.summary"
	s := sim(t, Options{})
	w := do(s, http.MethodGet, "/api/v1/applications"+query, "")
	body := recordedBody(t, "applications-fields")
	if got, want := keysInOrder(t, w.Body.Bytes()), keysInOrder(t, body); !slices.Equal(got, want) {
		t.Errorf("the list begins with %q, recorded %q", got, want)
	}
	want, got := map[string]int{}, map[string]int{}
	var real, made any
	if err := json.Unmarshal(body, &real); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil {
		t.Fatal(err)
	}
	paths(real, "", want)
	paths(made, "", got)
	for path := range got {
		if want[path] == 0 {
			t.Errorf("%s was never recorded", path)
		}
	}
	for path, n := range want {
		if got[path] == 0 && n > 819/50 {
			t.Errorf("%s was recorded %d times and is never generated", path, n)
		}
	}
	whole := items(t, s, "/api/v1/applications")
	for i, a := range itemsOf(t, w.Body.Bytes()) {
		for _, path := range [][]string{{"spec"}, {"metadata", "name"}, {"metadata", "labels"}, {"metadata", "annotations"}, {"status", "health"}, {"status", "summary"}, {"status", "sync", "status"}, {"status", "operationState", "phase"}} {
			if !same(lookup(a, path...), lookup(whole[i], path...)) {
				t.Fatalf("%s: %v is %v, in the whole object %v", text(a, "metadata", "name"), path, lookup(a, path...), lookup(whole[i], path...))
			}
		}
	}
}
