package toolset_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll/plimsoll/internal/argocd/toolset"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// with adds a member to an object.
func with(arguments, key, value string) string {
	return strings.TrimSuffix(arguments, "}") + fmt.Sprintf(",%q:%q}", key, value)
}

func TestNothingIsWrittenWithoutConfirmation(t *testing.T) {
	t.Parallel()
	for i, c := range writings {
		t.Run(fmt.Sprintf("%02d %s", i, c.tool), func(t *testing.T) {
			t.Parallel()
			s := newWritable(t, writableObjects())
			s.version = "v2.12.0" // no dry run of application sets, which is a POST
			set := writer(t, s)
			plan, text, err := write(t, set, c.tool, c.arguments)
			if err != nil {
				t.Fatal(err)
			}
			if *plan.Changed || plan.Plan == "" || plan.Instance != "prod" || plan.Do.Tool != c.tool {
				t.Errorf("the plan is %s", text)
			}
			if got := s.writes(); got != nil {
				t.Fatalf("without confirmation it sent %+v", got)
			}
			if len(text) > 4000 {
				t.Errorf("the plan has %d bytes", len(text))
			}
			// For another object it is an error.
			if _, _, err := write(t, set, c.tool, with(c.arguments, "confirm", "another")); err == nil || !strings.Contains(err.Error(), "nothing was changed") {
				t.Errorf("confirmation of something else: %v", err)
			}
			if got := s.writes(); got != nil {
				t.Fatalf("confirmed for something else it sent %+v", got)
			}
			// What the plan says to send does it.
			args, err := json.Marshal(plan.Do.Arguments)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := write(t, set, c.tool, string(args)); err != nil && !strings.Contains(err.Error(), "need Argo CD 3.1") {
				t.Fatal(err)
			}
		})
	}
}

func TestWritesAreTheRequestsOfTheAPI(t *testing.T) {
	t.Parallel()
	for i, c := range writings {
		t.Run(fmt.Sprintf("%02d %s", i, c.tool), func(t *testing.T) {
			t.Parallel()
			s := newWritable(t, writableObjects())
			maps.Copy(s.answers, map[string]string{"POST applications": guestbook, "POST applications/many/sync": several})
			done, text, err := write(t, writer(t, s), c.tool, with(c.arguments, "confirm", c.confirm))
			if err != nil {
				t.Fatal(err)
			}
			if *done.Changed == (c.tool == "refresh_application") || done.Done == "" || done.Instance != "prod" {
				t.Errorf("the answer is %s", text)
			}
			if len(text) > 4000 {
				t.Errorf("the answer has %d bytes", len(text))
			}
			if diff := cmp.Diff([]written{c.want}, s.writes()); diff != "" {
				t.Errorf("what was sent differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOlderServersGetTheOlderAction(t *testing.T) {
	t.Parallel()
	s := newWritable(t, writableObjects())
	s.version = "v3.0.9"
	set := writer(t, s)
	if _, _, err := write(t, set, "run_resource_action", `{"name":"guestbook","action":"restart","kind":"Deployment","resource_name":"ui","confirm":"ui"}`); err != nil {
		t.Fatal(err)
	}
	want := []written{{"POST", "applications/guestbook/resource/actions", "group=apps&kind=Deployment&namespace=shop&resourceName=ui&version=v1", "restart"}}
	if diff := cmp.Diff(want, s.writes()); diff != "" {
		t.Error(diff)
	}
	_, _, err := write(t, set, "run_resource_action", `{"name":"guestbook","action":"restart","kind":"Deployment","resource_name":"ui","parameters":{"a":"b"},"confirm":"ui"}`)
	if err == nil || !strings.Contains(err.Error(), "3.1") || s.writes() != nil {
		t.Errorf("parameters for an older server: %v", err)
	}
}

func TestApplicationSetsAreTriedOnlyWhereItIsSafe(t *testing.T) {
	t.Parallel()
	const arguments = `{"metadata_name":"fresh","spec":{"generators":[{"list":{}}]},"param_dryRun":true,"confirm":"fresh"}`
	s := newWritable(t, writableObjects())
	s.answers["POST applicationsets"] = `{"status":{"resources":[{"name":"fresh-a"},{"name":"fresh-b"}]}}`
	plan, text, err := write(t, writer(t, s), "applicationset_create", arguments)
	if err != nil || *plan.Changed || !strings.Contains(text, `"generates":{"applications":2,"names":["fresh-a","fresh-b"]}`) {
		t.Errorf("a dry run: %v, %s", err, text)
	}
	if got := s.writes(); len(got) != 1 || got[0].Query != "dryRun=true" {
		t.Errorf("a dry run sent %+v", got)
	}
	if _, has := plan.Do.Arguments["dry_run"]; has || plan.Do.Arguments["name"] != "fresh" {
		t.Errorf("the call to make is a dry run again: %s", text)
	}
	for _, version := range []string{"v2.12.9", "v1.8.0", "gibberish"} {
		s := newWritable(t, writableObjects())
		s.version = version
		plan, text, err := write(t, writer(t, s), "applicationset_create", arguments)
		if err != nil || *plan.Changed || len(plan.Warnings) == 0 {
			t.Errorf("%s: %v, %s", version, err, text)
		}
		if got := s.writes(); got != nil {
			t.Errorf("%s was sent %+v, which it would carry out", version, got)
		}
	}
}

func TestWritesAreRefusedBeforeTheyAreSent(t *testing.T) {
	t.Parallel()
	s := newWritable(t, writableObjects())
	set := writer(t, s)
	for _, c := range []struct{ tool, arguments, want string }{
		{"sync_application", `{"name":"","confirm":"x"}`, `the object is ""`},
		{"sync_application", `{"name":" "}`, "name is empty"},
		{"sync_application", `{"name":"guestbook","strategy":"magic"}`, "it can be apply, hook"},
		{"sync_application", `{"name":"many","revisions":["a"],"confirm":"many"}`, "1 revisions and 0 source_positions"},
		{"sync_application", `{"name":"guestbook","resources":[{"kind":"","name":"x"}],"confirm":"guestbook"}`, "resources[0]"},
		{"sync_application", `{"name":"nosuch","confirm":"nosuch"}`, "nosuch"},
		{"sync_application", `{"nme":"guestbook"}`, "name"},
		{"rollback_application", `{"name":"guestbook","confirm":"guestbook"}`, "id 4: two"},
		{"rollback_application", `{"name":"guestbook","id":99,"confirm":"guestbook"}`, "no deployment with id 99: nothing was changed; it has id 4: two"},
		{"rollback_application", `{"name":"guestbook","id":99,"confirm":"guestbook"}`, "; id 3: "},
		{"rollback_application", `{"name":"many","id":99,"confirm":"many"}`, "it has none, as it has never been deployed"},
		{"create_application", `{"name":"Not A Name","project":"shop","repo_url":"u","dest_server":"s"}`, "lower case"},
		{"create_application", `{"name":"fresh","project":"shop","dest_server":"s","confirm":"fresh"}`, "repo_url is missing"},
		{"create_application", `{"name":"fresh","project":"shop","repo_url":"u","confirm":"fresh"}`, "dest_server is missing"},
		{"create_application", `{"name":"fresh","project":"shop","repo_url":"u","dest_server":"s","dest_name":"n","confirm":"fresh"}`, "both given"},
		{"create_application", `{"name":"fresh","project":"shop","repo_url":"u","dest_server":"s","prune":true,"confirm":"fresh"}`, "automated_sync"},
		{"update_application", `{"name":"guestbook","confirm":"guestbook"}`, "no change was asked for"},
		{"update_application", `{"name":"many","revision":"v2","confirm":"many"}`, "2: https://charts.example.com chart web @ 1.0.0"},
		{"update_application", `{"name":"guestbook","prune":true,"confirm":"guestbook"}`, "auto-sync is off"},
		{"update_application", `{"name":"guestbook","metadata":{"name":"x"},"confirm":"guestbook"}`, "metadata.name cannot be changed"},
		{"update_application", `{"name":"guestbook","metadata":{"labels":{"a":"b"}},"validate":false,"confirm":"guestbook"}`, "metadata cannot be changed with validate=false"},
		{"update_application", `{"name":"guestbook","spec":{"source":{"helm":{"parameters":[{"name":"db.password","value":"********"}]}}},"confirm":"guestbook"}`, "spec.source.helm.parameters[0].value is the mask"},
		{"update_application", `{"name":"guestbook","spec":[1],"confirm":"guestbook"}`, "spec"},
		{"delete_application", `{"name":"guestbook","propagation_policy":"background","confirm":"guestbook"}`, "needs cascade=true"},
		{"delete_application", `{"name":"guestbook","cascade":true,"propagation_policy":"orphan","confirm":"guestbook"}`, "foreground, background"},
		{"run_resource_action", `{"name":"guestbook","action":"explode","kind":"Deployment","resource_name":"ui","confirm":"ui"}`, "it has: restart, resume (not possible now)"},
		{"run_resource_action", `{"name":"guestbook","action":"resume","kind":"Deployment","resource_name":"ui","confirm":"ui"}`, "not possible in the state"},
		{"run_resource_action", `{"name":"guestbook","action":"restart","kind":"Job","resource_name":"ui","confirm":"ui"}`, "no resource of kind"},
		{"run_resource_action", `{"name":"guestbook","action":"restart","kind":"Pod","resource_name":"same","confirm":"same"}`, "2 resources fit: Pod shop/same, Pod other/same"},
		{"run_resource_action", `{"name":"guestbook","action":"restart","kind":"ConfigMap","resource_name":"everywhere","confirm":"everywhere"}`, "23 resources fit: ConfigMap n0/everywhere"},
		{"run_resource_action", `{"name":"guestbook","action":"restart","kind":"ConfigMap","resource_name":"everywhere","confirm":"everywhere"}`, "and 3 more; say group"},
		{"project_update", `{"param_name":"shop","confirm":"shop"}`, "no change was asked for"},
		{"project_update", `{"param_name":"nosuch","description":"x","confirm":"nosuch"}`, "nosuch"},
		{"project_create", `{"name":"x","destinations":[{"servr":"*"}],"confirm":"x"}`, "server, name, namespace"},
		{"applicationset_create", `{"metadata_name":"x","spec":{},"confirm":"x"}`, "spec is empty"},
	} {
		_, _, err := write(t, set, c.tool, c.arguments)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q in it", c.tool, c.arguments, err, c.want)
		}
	}
	if got := s.writes(); got != nil {
		t.Errorf("it sent %+v", got)
	}
}

func TestPlansSayWhatWouldHappen(t *testing.T) {
	t.Parallel()
	set := writer(t, newWritable(t, writableObjects()))
	for _, c := range []struct {
		tool, arguments string
		want            []string
	}{
		{"sync_application", `{"name":"guestbook"}`, []string{`"apply":["apps/Deployment shop/ui"]`, "1 resources are no longer in the source and stay", "no sync window of the project that allows one is open", `"out_of_sync":2`}},
		{"sync_application", `{"name":"guestbook","prune":true}`, []string{`"delete":["ConfigMap shop/old"]`}},
		{"sync_application", `{"name":"guestbook","resources":[{"kind":"Pod","name":"gone"}]}`, []string{"no resource Pod gone", `"out_of_sync":0`}},
		{"sync_application", `{"name":"many","revision":"x"}`, []string{"auto-sync is on", "send revisions and source_positions"}},
		{"terminate_operation", `{"name":"guestbook"}`, []string{"no operation is running"}},
		{"rollback_application", `{"name":"guestbook"}`, []string{`["id 4: two, deployed 2026-02-01T00:00:00Z","id 3: one`}},
		{"rollback_application", `{"name":"many"}`, []string{"the server refuses a rollback"}},
		{"create_application", `{"name":"guestbook","project":"none","repo_url":"u","dest_server":"s"}`, []string{"upsert=true", `there is no project \"none\"`}},
		{"update_application", `{"name":"guestbook","revision":"v2"}`, []string{`{"path":"spec.source.targetRevision","from":"\"v1\"","to":"\"v2\""}`, `"all":1`}},
		{"update_application", `{"name":"guestbook","revision":"v1"}`, []string{"nothing to change: guestbook has these values already"}},
		{"update_application", `{"name":"guestbook","metadata":{"finalizers":[]}}`, []string{`"path":"metadata.finalizers"`}},
		{"delete_application", `{"name":"guestbook"}`, []string{`"stays":["ConfigMap shop/old"`, "its finalizer"}},
		{"delete_application", `{"name":"guestbook","cascade":true}`, []string{`"deleted":["ConfigMap shop/old"`, "its 3 resources in the cluster"}},
		{"project_create", `{"name":"shop","upsert":true}`, []string{"roles and their tokens"}},
		{"applicationset_service__delete", `{"path_name":"fleet"}`, []string{"the 2 applications it has made", "fleet-b"}},
	} {
		_, text, err := write(t, set, c.tool, c.arguments)
		if err != nil {
			t.Errorf("%s %s: %v", c.tool, c.arguments, err)
		}
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s %s has no %q: %s", c.tool, c.arguments, want, text)
			}
		}
	}
}

// A secret that is changed is listed and not shown, neither before nor after.
func TestPlansShowNoSecrets(t *testing.T) {
	t.Parallel()
	set := writer(t, newWritable(t, writableObjects()))
	_, text, err := write(t, set, "update_application", `{"name":"guestbook","dry_run":true,"spec":{"source":{"helm":{"parameters":[{"name":"db.password","value":"swordfish"},{"name":"replicas","value":"3"}]}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	shown, echo, found := strings.Cut(text, `"to_do_it"`)
	if !found || strings.Contains(shown, "hunter2") || strings.Contains(shown, "swordfish") || strings.Contains(echo, "hunter2") {
		t.Errorf("a secret is shown: %s", text)
	}
	if !strings.Contains(shown, "parameters[0].value") || !strings.Contains(shown, `"all":2`) {
		t.Errorf("the change of the secret is not listed: %s", text)
	}
	if strings.Contains(echo, "dry_run") {
		t.Errorf("the call to make is a dry run: %s", echo)
	}
}

func TestLargeArgumentsAreNotRepeated(t *testing.T) {
	t.Parallel()
	set := writer(t, newWritable(t, writableObjects()))
	plan, text, err := write(t, set, "update_application", fmt.Sprintf(`{"name":"guestbook","spec":{"source":{"helm":{"values":%q}}}}`, strings.Repeat("x", 100_000)))
	if err != nil || plan.Do.Arguments != nil || plan.Do.Add["confirm"] != "guestbook" || len(text) > 3000 {
		t.Errorf("%v, %d bytes: %.300s", err, len(text), text)
	}
}

func TestARefusedWriteIsAnErrorAndIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusBadRequest, http.StatusServiceUnavailable, http.StatusTooManyRequests} {
		s := newWritable(t, writableObjects())
		s.refuse = status
		_, _, err := write(t, writer(t, s), "sync_application", `{"name":"guestbook","confirm":"guestbook"}`)
		if err == nil || !strings.Contains(err.Error(), "another operation is already in progress") {
			t.Errorf("%d: %v", status, err)
		}
		if n := len(s.writes()); n != 1 {
			t.Errorf("%d: it was sent %d times", status, n)
		}
	}
}

// A dry run is waited for, and what it found is the answer.
func TestADryRunOfASyncTellsWhatItFound(t *testing.T) {
	t.Parallel()
	s := newWritable(t, writableObjects())
	over := strings.Replace(guestbook, `"operationState":{"phase":"Succeeded","startedAt":"2026-02-01T00:00:00Z"`,
		`"operationState":{"operation":{"sync":{"dryRun":true}},"syncResult":{"resources":[{"group":"apps","kind":"Deployment","namespace":"shop","name":"ui","status":"Synced","message":"deployment.apps/ui configured (dry run)"}]},"phase":"Succeeded","startedAt":"2026-03-01T00:00:00Z"`, 1)
	s.answers["POST applications/guestbook/sync"] = strings.Replace(guestbook, `"status":`, `"operation":{"sync":{"dryRun":true}},"status":`, 1)
	// What is there changes with the request, as with a controller that is quick.
	s.after = func() { s.objects["applications/guestbook"] = over }
	done, text, err := write(t, writer(t, s), "sync_application", `{"name":"guestbook","dry_run":true,"confirm":"guestbook"}`)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(done.Change), "apps/Deployment shop/ui: Synced deployment.apps/ui configured (dry run)") || !strings.HasPrefix(done.Done, "dry run") {
		t.Errorf("the answer is %s", text)
	}
}

func TestWriteToolsAreOnlyThereWhenAllowed(t *testing.T) {
	t.Parallel()
	s := newWritable(t, writableObjects())
	client := clientOf(t, "prod", s.URL, "")
	hints := map[string]builtin.Hints{}
	for _, tool := range newToolset(t, toolset.Options{AllowWrites: true}, client).Tools() {
		hints[tool.Name] = tool.Hints
		if len(tool.Description) > 2048 || !tool.Hints.OpenWorld {
			t.Errorf("%s: %d bytes of description, %+v", tool.Name, len(tool.Description), tool.Hints)
		}
	}
	for _, tool := range newToolset(t, toolset.Options{}, client).Tools() {
		if !tool.Hints.ReadOnly || tool.Hints.Destructive {
			t.Errorf("%s is there without writes being allowed: %+v", tool.Name, tool.Hints)
		}
		delete(hints, tool.Name)
	}
	names := map[string]bool{}
	for _, c := range writings {
		names[c.tool] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(names)), slices.Sorted(maps.Keys(hints))); diff != "" {
		t.Errorf("tools that write, and those that are tested:\n%s", diff)
	}
	for name, h := range hints {
		if h.ReadOnly || h.Destructive == (name == "refresh_application") {
			t.Errorf("%s: %+v", name, h)
		}
	}
	if _, err := builtin.New(builtin.Options{Name: "argocd", Version: "1", Tools: newToolset(t, toolset.Options{AllowWrites: true}, client).Tools()}); err != nil {
		t.Error(err)
	}
}

// An update that sets what is there already says that it changed nothing.
func TestAnUpdateWithoutADifferenceChangedNothing(t *testing.T) {
	t.Parallel()
	s := newWritable(t, writableObjects())
	var now struct{ Spec struct{ Project string } }
	if err := json.Unmarshal([]byte(guestbook), &now); err != nil {
		t.Fatal(err)
	}
	done, text, err := write(t, writer(t, s), "update_application", fmt.Sprintf(`{"name":"guestbook","spec":{"project":%q},"confirm":"guestbook"}`, now.Spec.Project))
	if err != nil || *done.Changed || !strings.Contains(text, "nothing to change: guestbook has these values already") {
		t.Errorf("%v: %s", err, text)
	}
}
