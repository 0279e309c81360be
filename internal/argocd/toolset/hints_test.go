package toolset_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/plimsoll/plimsoll/internal/argocd/toolset"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// originals are the arguments that clients of the Python server send.
var originals = map[string][]string{
	"list_applications":       {"project", "name", "repo", "namespace", "refresh", "summary_only", "page", "page_size"},
	"project_list":            {"param_name", "summary_only", "page", "page_size"},
	"applicationset_list":     {"param_projects", "param_selector", "param_appsetNamespace", "summary_only", "page", "page_size"},
	"cluster_service__list":   {"param_server", "param_name", "param_id_type", "param_id_value", "summary_only", "page", "page_size"},
	"search_argocd_resources": {"query", "resource_types", "case_sensitive", "page", "page_size"},
}

func TestTools(t *testing.T) {
	t.Parallel()
	for _, writes := range []bool{false, true} {
		set, _ := recordedToolset(t, toolset.Options{AllowWrites: writes, AllArguments: true})
		tools := set.Tools()
		server, err := builtin.New(builtin.Options{Name: "argocd", Version: "1", Tools: tools, Instructions: set.Instructions()})
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		seen := map[string]bool{}
		for _, tool := range tools {
			seen[tool.Name] = true
			var schema struct {
				Type       string
				Additional *bool `json:"additionalProperties"`
				Properties map[string]struct{ Description string }
			}
			if err := json.Unmarshal(tool.Input, &schema); err != nil || schema.Type != "object" || schema.Additional == nil || *schema.Additional {
				t.Errorf("%s: %v: %s", tool.Name, err, tool.Input)
			}
			for name, p := range schema.Properties {
				if p.Description == "" && originals[tool.Name] != nil {
					t.Errorf("%s: nothing says what %q is", tool.Name, name)
				}
			}
			if tool.Title == "" || tool.Description == "" {
				t.Errorf("%s has no title or no description", tool.Name)
			}
			if !writes && (!tool.Hints.ReadOnly || tool.Hints.Destructive) {
				t.Errorf("%s is there without writes: %+v", tool.Name, tool.Hints)
			}
			for _, name := range originals[tool.Name] {
				if _, has := schema.Properties[name]; !has {
					t.Errorf("%s has no argument %q", tool.Name, name)
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(originals)) {
			if !seen[name] {
				t.Errorf("there is no tool %q", name)
			}
		}
		if n := len(set.Instructions()); n > 2048 {
			t.Errorf("the instructions have %d bytes", n)
		}
	}
}

// A model calls what it is told of, so what is told of must be there.
func TestToolsThatAreNamedAreThere(t *testing.T) {
	t.Parallel()
	tool := regexp.MustCompile(`\b(?:get|list|search|project|applicationset|application_service_|application_set_service_|cluster_service_|account_service_|version_service_)_[a-z_]+`)
	for _, writes := range []bool{false, true} {
		set, _ := recordedToolset(t, toolset.Options{AllowWrites: writes})
		there := map[string]bool{}
		texts := map[string]string{"the instructions": set.Instructions()}
		for _, one := range set.Tools() {
			there[one.Name] = true
			texts[one.Name] = one.Description
		}
		named := 0
		for where, text := range texts {
			for _, name := range tool.FindAllString(text, -1) {
				named++
				if !there[name] {
					t.Errorf("%s names %q, which is no tool (writes %v)", where, name, writes)
				}
			}
		}
		if named < 10 {
			t.Errorf("only %d names of tools were found", named)
		}
	}
}

// What all tools take in a model's context before anything is asked.
func TestToolsAreShort(t *testing.T) {
	t.Parallel()
	set, _ := recordedToolset(t, toolset.Options{})
	tokens := 0
	for _, tool := range set.Tools() {
		if originals[tool.Name] != nil {
			tokens += tokensOf(t, tool.Description) + tokensOf(t, string(tool.Input))
		}
	}
	t.Logf("listing and searching take %d tokens of descriptions and schemas", tokens)
	if tokens > 2500 {
		t.Errorf("listing and searching take %d tokens of descriptions and schemas", tokens)
	}
}
