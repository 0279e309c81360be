package toolset_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

type treePage struct {
	Pagination struct {
		Page    int
		Total   int  `json:"total_items"`
		Pages   int  `json:"total_pages"`
		HasNext bool `json:"has_next"`
	}
	Summary struct {
		Resources, Orphaned int
		Health              map[string]int `json:"by_health"`
		Kinds               map[string]int `json:"by_kind"`
	}
	Next *struct {
		Tool      string
		Arguments json.RawMessage
	}
	Items []struct {
		Kind, Namespace, Name, Health, Message, Parent string
		Orphaned                                       bool
	}
}

func TestRecordedTree(t *testing.T) {
	t.Parallel()
	set, _ := played(t, map[string]string{"applications/a/resource-tree": body(t, "app-resource-tree")})
	a, text := ask[treePage](t, set, "get_application_resource_tree", `{"name":"a"}`)
	if a.Pagination.Total != 9 || a.Summary.Resources != 9 || a.Summary.Health["Healthy"] != 6 || a.Summary.Health["none"] != 3 || a.Summary.Kinds["batch/CronJob"] != 1 {
		t.Error(text)
	}
	one, text := ask[treePage](t, set, "get_application_resource_tree", `{"path_applicationName":"a","kind":"cronjob"}`)
	if len(one.Items) != 1 || one.Items[0].Name != "admin-tls" || one.Summary.Resources != 9 {
		t.Error(text)
	}
	if _, text := ask[treePage](t, set, "get_application_resource_tree", `{"name":"a","health":["degraded"]}`); !strings.Contains(text, "No resource matches") {
		t.Error(text)
	}
	refusedWith(t, set, "get_application_resource_tree", `{"name":"a","health":["Sick"]}`, "Sick", "Degraded")
	refusedWith(t, set, "get_application_resource_tree", `{"name":"a","page":9}`, "the last page is 1")
}

// A tree of thousands of nodes with the longest names and messages: every page is short,
// and all pages together are the tree.
func TestLargeTreeInPages(t *testing.T) {
	t.Parallel()
	const nodes, orphans = 120, 7
	var b strings.Builder
	b.WriteString(`{"nodes":[`)
	health := []string{"Healthy", "Degraded", "Progressing", ""}
	node := func(i int) string {
		return fmt.Sprintf(`{"group":"apps","kind":"ReplicaSet%d","namespace":%q,"name":"n%0200d","uid":"%d","health":{"status":%q,"message":%q},"images":[%q],"parentRefs":[{"kind":"Deployment","name":"d"}]}`,
			i%30, strings.Repeat("n", 63), i, i, health[i%4], strings.Repeat("pod failed: é ", 100), strings.Repeat("i", 300))
	}
	for i := range nodes {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(node(i))
	}
	b.WriteString(`],"orphanedNodes":[`)
	for i := range orphans {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(node(nodes + i))
	}
	b.WriteString(`],"hosts":[{"name":"h"}],"shardsCount":1}`)
	set, _ := played(t, map[string]string{"applications/a/resource-tree": b.String()})
	call := caller(set)
	seen := map[string]bool{}
	arguments := `{"name":"a"}`
	for pages := 1; ; pages++ {
		text := call(t, "get_application_resource_tree", arguments)
		var a treePage
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatal(err)
		}
		if len(text) > maxDefault {
			t.Errorf("page %d has %d bytes", pages, len(text))
		}
		if pages == 1 {
			if a.Items[0].Health != "Degraded" || a.Summary.Resources != nodes || a.Summary.Orphaned != orphans || a.Summary.Health["none"] != nodes/4 || len(a.Summary.Kinds) != 21 || a.Summary.Kinds["other"] != nodes/3 {
				t.Errorf("%.2000s", text)
			}
		}
		for _, item := range a.Items {
			if seen[item.Name] {
				t.Errorf("%s came twice", item.Name)
			}
			seen[item.Name] = true
		}
		if a.Next == nil {
			break
		}
		arguments = string(a.Next.Arguments)
		if pages > nodes {
			t.Fatal("the pages do not end")
		}
	}
	if len(seen) != nodes+orphans {
		t.Errorf("%d of %d came", len(seen), nodes+orphans)
	}
}

type managedPage struct {
	Summary struct {
		States map[string]int `json:"by_state"`
	}
	Items []struct {
		Kind, Name, State string
		Diff              []string
		More              int `json:"more_differences"`
		Live, Desired     map[string]any
	}
}

func TestRecordedManagedResources(t *testing.T) {
	t.Parallel()
	set, _ := played(t, map[string]string{"applications/a/managed-resources": body(t, "app-managed-resources")})
	a, text := ask[managedPage](t, set, "get_application_managed_resources", `{"name":"a"}`)
	holdsToBounds(t, "managed resources", text)
	if len(a.Items) != 1 || a.Items[0].Name != "admin-tls" || a.Summary.States["in sync"] != 8 || a.Summary.States["differs"] != 1 {
		t.Error(text)
	}
	if _, text := ask[managedPage](t, set, "get_application_managed_resources", `{"name":"a","kind":"PersistentVolumeClaim"}`); !strings.Contains(text, "No such resource differs") {
		t.Error(text)
	}
	all, _ := ask[managedPage](t, set, "get_application_managed_resources", `{"name":"a","all":true,"page_size":100}`)
	if len(all.Items) != 9 {
		t.Errorf("%d items", len(all.Items))
	}
}

func TestDifferencesAreShownAndSecretsAreNot(t *testing.T) {
	t.Parallel()
	item := func(kind, name string, more map[string]any) map[string]any {
		more["kind"], more["name"], more["namespace"] = kind, name, "n"
		return more
	}
	state := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	deployment := func(replicas int, env ...map[string]any) map[string]any {
		return map[string]any{"kind": "Deployment", "metadata": map[string]any{"name": "d", "managedFields": []int{replicas}}, "spec": map[string]any{
			"replicas": replicas, "template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "app", "env": env}}}},
		}}
	}
	secret := func(password string) map[string]any {
		return map[string]any{"kind": "Secret", "data": map[string]any{"password": password, "same": "c2FtZQ=="}}
	}
	live := deployment(3, map[string]any{"name": "A", "value": "1"}, map[string]any{"name": "DB_PASSWORD", "value": "hunter2"})
	desired := deployment(5, map[string]any{"name": "DEBUG", "value": "x"}, map[string]any{"name": "A", "value": "2"}, map[string]any{"name": "DB_PASSWORD", "value": "hunter3"})
	big := map[string]any{}
	for i := range 500 {
		big[fmt.Sprintf("key-%03d", i)] = strings.Repeat("v", 500)
	}
	raw := state(map[string]any{"items": []any{
		item("Deployment", "d", map[string]any{"group": "apps", "modified": true, "liveState": state(live), "targetState": state(desired), "normalizedLiveState": state(live), "predictedLiveState": state(desired)}),
		item("Secret", "s", map[string]any{"modified": true, "liveState": state(secret("aHVudGVyMg==")), "targetState": state(secret("aHVudGVyMw=="))}),
		item("ConfigMap", "gone", map[string]any{"liveState": "null", "targetState": `{"kind":"ConfigMap"}`}),
		item("ConfigMap", "old", map[string]any{"liveState": `{"kind":"ConfigMap"}`, "targetState": ""}),
		item("ConfigMap", "big", map[string]any{"modified": true, "normalizedLiveState": `{"data":{}}`, "predictedLiveState": state(map[string]any{"data": big}), "liveState": `{"data":{}}`, "targetState": state(map[string]any{"data": big})}),
		item("Job", "hook", map[string]any{"hook": true, "liveState": "null", "targetState": `{"kind":"Job"}`}),
		item("Service", "fine", map[string]any{"liveState": `{"a":1}`, "targetState": `{"a":1}`}),
	}})
	set, _ := played(t, map[string]string{"applications/a/managed-resources": raw})
	a, text := ask[managedPage](t, set, "get_application_managed_resources", `{"name":"a"}`)
	holdsToBounds(t, "differences", text)
	states := map[string]string{}
	lines := map[string]string{}
	for _, item := range a.Items {
		states[item.Name], lines[item.Name] = item.State, strings.Join(item.Diff, "\n")
		if item.Name == "big" && item.More+len(item.Diff) != 500 {
			t.Errorf("%d lines and %d more", len(item.Diff), item.More)
		}
	}
	if len(a.Items) != 5 || states["d"] != "differs" || states["gone"] != "missing in the cluster" || states["old"] != "to be pruned" || a.Summary.States["hook"] != 1 {
		t.Errorf("%v", states)
	}
	want := `+ spec.template.spec.containers[app].env[DEBUG]: {"name":"DEBUG","value":"x"}`
	if got := lines["d"]; !strings.Contains(got, "~ spec.replicas: 3 → 5") || !strings.Contains(got, want) || !strings.Contains(got, `env[A].value: "1" → "2"`) || strings.Contains(got, "managedFields") ||
		!strings.Contains(got, `env[DB_PASSWORD].value: "********" → "********" (differs`) {
		t.Error(got)
	}
	if got := lines["s"]; !strings.Contains(got, "data.password") || !strings.Contains(got, "differs; secrets are masked") || strings.Contains(got, "same") {
		t.Error(got)
	}
	if strings.Contains(text, "hunter") || strings.Contains(text, "aHVudGVy") {
		t.Errorf("a secret is shown: %s", text)
	}
	// One resource has room for more of its lines, and both manifests are there on request.
	alone, _ := ask[managedPage](t, set, "get_application_managed_resources", `{"name":"a","resource_name":"big"}`)
	if len(alone.Items) != 1 || len(alone.Items[0].Diff) < 20 {
		t.Errorf("%d lines for one resource", len(alone.Items[0].Diff))
	}
	full, text := ask[managedPage](t, set, "get_application_managed_resources", `{"name":"a","full":true,"kind":"secret"}`)
	if len(full.Items) != 1 || full.Items[0].Live == nil || full.Items[0].Desired == nil || strings.Contains(text, "aHVudGVy") {
		t.Error(text)
	}
	// A broken manifest is an error that names the resource and shows nothing of it.
	broken, _ := played(t, map[string]string{"applications/a/managed-resources": `{"items":[{"kind":"Secret","name":"s","modified":true,"liveState":"{\"data\":{\"a\":\"hunter2\"","targetState":"{}x"}]}`})
	if text := refusedWith(t, broken, "get_application_managed_resources", `{"name":"a"}`, "Secret/s"); strings.Contains(text, "hunter2") {
		t.Error(text)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	many := make([]string, 0, 300)
	for i := range 300 {
		many = append(many, fmt.Sprintf(`{"type":"Warning","reason":"BackOff%d","message":%q,"involvedObject":{"kind":"Pod","name":"p"},"lastTimestamp":"2026-11-20T%02d:%02d:00Z","count":%d}`,
			i%30, strings.Repeat("Back-off pulling https://ci:hunter2@reg/x ", 60), i/60, i%60, i))
	}
	set, s := played(t, map[string]string{
		"applications/a/events":        body(t, "app-events"),
		"applications/a/resource-tree": `{"nodes":[{"kind":"Pod","name":"p","namespace":"n","uid":"u1"},{"kind":"Pod","name":"q","namespace":"n","uid":"u2"},{"kind":"Service","name":"q","namespace":"m","uid":"u3"},{"kind":"Job","name":"j","namespace":"n"}]}`,
		"applications/many/events":     `{"items":[` + strings.Join(many, ",") + `]}`,
		"applications/none/events":     `{"metadata":{},"items":null}`,
	})
	type answer struct {
		Items []struct{ Type, Reason, Message, Object, Last, First string }
	}
	a, text := ask[answer](t, set, "application_service__list_resource_events", `{"name":"a"}`)
	if len(a.Items) != 1 || a.Items[0].Reason != "OperationStarted" || a.Items[0].Object != "Application/billing-admin-dev" || s.query("applications/a/events").Has("resourceName") {
		t.Error(text)
	}
	ask[answer](t, set, "application_service__list_resource_events", `{"path_name":"a","param_resourceName":"p"}`)
	if q := s.query("applications/a/events"); q.Get("resourceUID") != "u1" || q.Get("resourceNamespace") != "n" || q.Get("resourceName") != "p" {
		t.Errorf("asked with %v", q)
	}
	ask[answer](t, set, "application_service__list_resource_events", `{"name":"a","resource_name":"q","kind":"service"}`)
	if q := s.query("applications/a/events"); q.Get("resourceUID") != "u3" {
		t.Errorf("asked with %v", q)
	}
	refusedWith(t, set, "application_service__list_resource_events", `{"name":"a","resource_name":"q"}`, "2 resources", "Pod/q in namespace n", "Service/q in namespace m")
	refusedWith(t, set, "application_service__list_resource_events", `{"name":"a","resource_name":"nope"}`, "no resource", "nope")
	refusedWith(t, set, "application_service__list_resource_events", `{"name":"a","resource_name":"j"}`, "not in the cluster yet")
	refusedWith(t, set, "application_service__list_resource_events", `{"name":"a","type":"Bad"}`, "Normal or Warning")
	all, text := ask[answer](t, set, "application_service__list_resource_events", `{"name":"many"}`)
	holdsToBounds(t, "events", text)
	if strings.Contains(text, "hunter2") || len(all.Items) != 20 || !slices.IsSortedFunc(all.Items, func(a, b struct{ Type, Reason, Message, Object, Last, First string }) int {
		return strings.Compare(b.Last, a.Last)
	}) {
		t.Errorf("%.1000s", text)
	}
	if _, text := ask[answer](t, set, "application_service__list_resource_events", `{"name":"none"}`); !strings.Contains(text, "No events") {
		t.Error(text)
	}
}

func TestOneResource(t *testing.T) {
	t.Parallel()
	manifest, _ := json.Marshal(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","managedFields":[{"a":"b","c":"d"}]},"data":{"a":"aHVudGVyMg=="}}`)
	set, s := played(t, map[string]string{
		"applications/a/resource-tree":    `{"nodes":[{"version":"v1","kind":"Secret","name":"s","namespace":"n","uid":"u"},{"group":"apps","version":"v1","kind":"Deployment","name":"d","namespace":"n","uid":"v"}]}`,
		"applications/a/resource":         `{"manifest":` + string(manifest) + `}`,
		"applications/a/resource/actions": `{"actions":[{"name":"restart"},{"name":"scale","disabled":true,"params":[{"name":"replicas"}]}]}`,
	})
	_, text := ask[any](t, set, "get_resource", `{"name":"a","kind":"secret","resource_name":"s"}`)
	if strings.Contains(text, "aHVudGVy") || !strings.Contains(text, `"a":"********"`) || strings.Contains(text, `"managedFields":`) {
		t.Error(text)
	}
	if q := s.query("applications/a/resource"); q.Get("version") != "v1" || q.Get("namespace") != "n" || q.Get("kind") != "Secret" || q.Get("resourceName") != "s" {
		t.Errorf("asked with %v", q)
	}
	actions, text := ask[struct {
		Actions []struct {
			Name     string
			Possible bool `json:"possible_now"`
		}
	}](t, set, "list_resource_actions", `{"name":"a","kind":"Deployment","resource_name":"d"}`)
	if len(actions.Actions) != 2 || !actions.Actions[0].Possible || actions.Actions[1].Possible {
		t.Error(text)
	}
	refusedWith(t, set, "get_resource", `{"name":"a","kind":"Pod","resource_name":"s"}`, "Pod/s", "get_application_resource_tree")
}
