package toolset_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/toolset"
)

func TestFullObjects(t *testing.T) {
	t.Parallel()
	set, _ := recordedToolset(t, lasting())
	for kind, tool := range listTools {
		byName := map[string]map[string]any{}
		for _, object := range recordedObjects(t, kind) {
			name, _ := at(object, "metadata", "name").(string)
			if kind == argocd.Clusters {
				name, _ = object["name"].(string)
			}
			byName[name] = object
		}
		for _, arguments := range []string{`{"full":true,"page_size":5}`, `{"summary_only":false,"page_size":5}`} {
			got, text := ask[pageOf](t, set, tool, arguments)
			if got.SummaryOnly || len(got.Items) != 5 || got.Pagination.TotalItems != totals[kind] || len(got.LeftOut) != 4 {
				t.Errorf("%s %s: summary_only %v, %d items of %d, left out %v", tool, arguments, got.SummaryOnly, len(got.Items), got.Pagination.TotalItems, got.LeftOut)
			}
			if strings.Contains(text, "managedFields") {
				t.Errorf("%s %s: managed fields", tool, arguments)
			}
			for _, item := range got.Items {
				name, _ := at(item, "metadata", "name").(string)
				if kind == argocd.Clusters {
					name, _ = item["name"].(string)
				}
				want := byName[name]
				if want == nil {
					t.Fatalf("%s: no object is called %q", tool, name)
				}
				for _, keys := range [][]string{{"spec", "project"}, {"metadata", "labels"}, {"metadata", "uid"}, {"status", "sync", "revision"}, {"spec", "destination"}, {"server"}} {
					if fmt.Sprint(at(item, keys...)) != fmt.Sprint(at(want, keys...)) {
						t.Errorf("%s %s: %v is %v, was %v", tool, name, keys, at(item, keys...), at(want, keys...))
					}
				}
			}
		}
	}
	got, text := ask[pageOf](t, set, "list_applications", `{"full":true,"page_size":2,"include":["managed_fields","history"]}`)
	if !strings.Contains(text, `"managedFields"`) || strings.Join(got.LeftOut, " ") != "helm_values api_versions" {
		t.Errorf("left out %v", got.LeftOut)
	}
	if !strings.Contains(string(got.Next.Arguments), `"include":["managed_fields","history"]`) {
		t.Errorf("next is %s", got.Next.Arguments)
	}
	// Asking for parts is asking for whole objects.
	if got, _ := ask[pageOf](t, set, "list_applications", `{"page_size":1,"include":"history"}`); got.SummaryOnly || at(got.Items[0], "spec") == nil {
		t.Errorf("%v", got.Items)
	}
	refusedWith(t, set, "list_applications", `{"include":["everything"]}`, `"everything"`, "managed_fields, history, helm_values, api_versions")
}

func TestArgumentsThatAreWrong(t *testing.T) {
	t.Parallel()
	set, server := recordedToolset(t, toolset.Options{})
	for arguments, words := range map[string][]string{
		`{"pagesize":5}`:                           {`"pagesize"`, `"page_size"`},
		`{"page":"two"}`:                           {`"page"`, `"two"`},
		`{"page":1.5}`:                             {`"page"`},
		`{"project":{"name":"a"}}`:                 {`"project"`},
		`{"health":["Sick"]}`:                      {"Sick", "Healthy"},
		`{"sync":["Healthy"]}`:                     {"Healthy", "OutOfSync"},
		`{"namespace":"a","app_namespace":"b"}`:    {"namespace", `"a"`, `"b"`},
		`{"name":"` + strings.Repeat("x", 9) + `"`: nil,
		`[]`: nil,
	} {
		refusedWith(t, set, "list_applications", arguments, words...)
	}
	refusedWith(t, set, "cluster_service__list", `{"param_id_type":"uid","param_id_value":"x"}`, `"uid"`, "server, name, name_escaped")
	refusedWith(t, set, "cluster_service__list", `{"param_id_type":"name_escaped","param_id_value":"%zz"}`, "%zz")
	refusedWith(t, set, "cluster_service__list", `{"param_name":"a","param_id_type":"name","param_id_value":"b"}`, `"a"`, `"b"`)
	refusedWith(t, set, "cluster_service__list", `{"name":"a"}`, `"param_name"`)
	for kind := range totals {
		if n := server.asked(kind); n != 0 {
			t.Errorf("%s were read %d times for calls that are wrong", kind, n)
		}
	}
	got, _ := ask[pageOf](t, set, "list_applications", `{"refresh":"hard","page_size":1,"namespace":"argocd","app_namespace":"argocd"}`)
	if !strings.Contains(got.Note, "refresh=hard did nothing") || strings.Contains(string(got.Next.Arguments), "refresh") {
		t.Errorf("note %q, next %s", got.Note, got.Next.Arguments)
	}
}
