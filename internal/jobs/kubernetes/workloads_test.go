package kubernetes

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/limit"
)

func TestParseQuantity(t *testing.T) {
	for text, want := range map[string]limit.Bytes{
		"900Mi": 900 << 20, "2Gi": 2 << 30, "1.5Gi": 3 << 29, "500M": 500e6, "128974848": 128974848, "1e9": 1e9, "1500m": 2, "1E": 1e18,
		"": 0, "Mi": 0, "-1Gi": 0, "1Zi": 0, "<nil>": 0, "999Ei": 0, "NaN": 0, "1Gi2": 0,
	} {
		if got := parseQuantity(text); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
}

func FuzzParseQuantity(f *testing.F) {
	f.Add("900Mi")
	f.Add("1e999999")
	f.Fuzz(func(t *testing.T, text string) {
		if n := parseQuantity(text); n < 0 {
			t.Errorf("%q is %d", text, n)
		}
	})
}

func deployment(name, template string) object {
	var o object
	if err := json.Unmarshal([]byte(`{"metadata": {"name": "`+name+`"}, "spec": {"template": `+template+`}}`), &o); err != nil {
		panic(err)
	}
	return o
}

// What runs a tool is found by its command or by the annotation, of every kind, and nothing else is.
func TestWorkloads(t *testing.T) {
	a := &api{}
	e := start(t, a, images())
	c, err := e.cluster("", "")
	if err != nil {
		t.Fatal(err)
	}
	const under = `{"spec": {"containers": [{"name": "proxy", "command": ["envoy"]}, {"name": "agent", "command": ["/plimsoll-bin/plimsoll", "run", "--quiet"], "args": ["--", "make", "test"],
		"resources": {"requests": {"memory": "900Mi", "cpu": 1}, "limits": {"memory": 2147483648}}}]}}`
	a.put("deployments", deployment("by-command", under))
	a.put("deployments", deployment("other", `{"spec": {"containers": [{"name": "a", "command": ["nginx"]}, {"name": "b", "args": ["plimsoll", "serve"]}, {"name": "c", "command": ["plimsoll", "run"]}]}}`))
	a.put("statefulsets", deployment("annotated", `{"metadata": {"annotations": {"plimsoll.dev/tool": "claude"}}, "spec": {"containers": [{"name": "only", "command": ["/entry"]}]}}`))
	a.put("deployments", deployment("which", `{"metadata": {"annotations": {"plimsoll.dev/tool": "claude"}}, "spec": {"containers": [{"name": "a"}, {"name": "b"}]}}`))
	a.put("deployments", deployment("named", `{"metadata": {"annotations": {"plimsoll.dev/tool": "claude", "kubectl.kubernetes.io/default-container": "b"}}, "spec": {"containers": [{"name": "a"}, {"name": "b"}]}}`))
	a.put("cronjobs", parsed(t, `{"metadata": {"name": "nightly"}, "spec": {"jobTemplate": {"spec": {"template": `+under+`}}}}`))
	a.put("jobs", deployment("once", under))
	a.put("jobs", parsed(t, `{"metadata": {"name": "of-cron", "ownerReferences": [{"kind": "CronJob"}]}, "spec": {"template": `+under+`}}`))
	a.put("jobs", parsed(t, `{"metadata": {"name": "over"}, "status": {"completionTime": "2026-11-29T10:00:00Z"}, "spec": {"template": `+under+`}}`))
	a.put("jobs", parsed(t, `{"metadata": {"name": "submitted", "labels": {"plimsoll.dev/job": "submitted"}}, "spec": {"template": `+under+`}}`))
	a.put("sandboxtemplates", parsed(t, `{"metadata": {"name": "it's"}, "spec": {"podTemplate": `+under+`}}`))
	forbidden := ""
	a.before = func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.URL.Path == "/apis/extensions.agents.x-k8s.io":
			_ = json.NewEncoder(w).Encode(object{"preferredVersion": object{"groupVersion": "extensions.agents.x-k8s.io/v1beta1"}})
			return true
		case forbidden != "" && strings.Contains(r.URL.Path, forbidden):
			refuse(w, 403, "not for you")
			return true
		case strings.HasSuffix(r.URL.Path, "/statefulsets") && r.URL.Query().Get("continue") == "": // the first page has none
			_ = json.NewEncoder(w).Encode(object{"metadata": object{"continue": "more"}})
			return true
		}
		return false
	}
	all, err := Workloads(t.Context(), c, "", func(text string) { t.Error(text) })
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range all {
		w := &all[i]
		names = append(names, w.APIVersion+" "+w.Kind+" "+w.Name+" "+w.Container+": "+strings.Join(w.Command, " "))
		if w.Command[0] == "make" && (w.Request != 900*limit.MiB || w.Limit != 2*limit.GiB) {
			t.Errorf("%s has %d and %d", w.Name, w.Request, w.Limit)
		}
	}
	want := []string{
		"apps/v1 Deployment by-command agent: make test", "apps/v1 Deployment named b: claude", "apps/v1 StatefulSet annotated only: claude",
		"batch/v1 CronJob nightly agent: make test", "batch/v1 Job once agent: make test", "extensions.agents.x-k8s.io/v1beta1 SandboxTemplate it's agent: make test",
	}
	if !slices.Equal(names, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
	}
	if one, err := Workloads(t.Context(), c, "nightly", func(string) {}); err != nil || len(one) != 1 {
		t.Errorf("%v, %v", one, err)
	}

	patch := func(i int) string { p, _ := all[i].Patch(100*limit.MiB+1, 300*limit.MiB); return text(p) }
	const resources = `{"spec":{"containers":[{"name":"agent","resources":{"limits":{"memory":"300Mi"},"requests":{"memory":"101Mi"}}}]}}`
	if got := patch(0); got != `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"by-command","namespace":"agents"},"spec":{"template":`+resources+`}}` {
		t.Errorf("%s", got)
	}
	if got := patch(3); !strings.Contains(got, `"spec":{"jobTemplate":{"spec":{"template":`+resources+`}}}`) {
		t.Errorf("%s", got)
	}
	p, command := all[5].Patch(100*limit.MiB, 300*limit.MiB)
	if p != nil || !strings.HasPrefix(command, "kubectl -n agents patch sandboxtemplate it's --type json -p '") {
		t.Errorf("%v, %s", p, command)
	}
	if out, err := exec.Command("sh", "-c", `printf %s "$8"`, "sh", "1").Output(); err != nil || string(out) != "" {
		t.Skip("no shell")
	}
	words, err := exec.Command("sh", "-c", "printf '%s\\n' "+strings.Replace(command, "it's", "x", 1)).Output()
	last := strings.Split(strings.TrimSpace(string(words)), "\n")
	if err != nil || last[len(last)-1] != `[{"op":"add","path":"/spec/podTemplate/spec/containers/1/resources","value":{"limits":{"memory":"300Mi"},"requests":{"cpu":1,"memory":"100Mi"}}}]` {
		t.Errorf("%s, %v", words, err)
	}

	told := 0
	forbidden = "/deployments"
	if some, err := Workloads(t.Context(), c, "", func(string) { told++ }); err != nil || len(some) != 4 || told != 1 {
		t.Errorf("%d, told %d times, %v", len(some), told, err)
	}
	forbidden = "/namespaces/"
	if _, err := Workloads(t.Context(), c, "", func(string) {}); err == nil || !strings.Contains(err.Error(), "has the Role") {
		t.Errorf("%v", err)
	}
}
