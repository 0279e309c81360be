package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/window/tokens"
)

// What the list of tools costs a model in each of its requests: at most 4,500 tokens reading and 6,500 with writes, of the list as
// it is sent, the gateway's own tools included. What is not listed works when it is called by its name, and --tools=all lists it.
func TestTheListOfToolsIsShort(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags []string
		most  int
	}{
		{nil, 4500},
		{[]string{"--allow-writes"}, 6500},
	} {
		args := append([]string{"mcp", "argocd", "--simulator=3,1,1,1", "--quiet"}, c.flags...)
		client := stdioClient(t, newSite(t), args...)
		answer := client.send(`{"jsonrpc":"2.0","id":100,"method":"tools/list","params":{}}`)
		list := rawjson.Get(answer, "result", "tools").Of(answer)
		n := tokens.O200K().Count(list)
		t.Logf("%v: %d tokens", c.flags, n)
		if n > c.most || n < 1000 {
			t.Errorf("%v: %d tokens, more than %d", c.flags, n, c.most)
		}
		for _, name := range []string{"list_applications", "project_list", "applicationset_list", "cluster_service__list", "search_argocd_resources"} {
			if !strings.Contains(string(list), `"name":"`+name+`"`) {
				t.Errorf("%v: %s is not listed", c.flags, name)
			}
		}
		if strings.Contains(string(list), "version_service__version") {
			t.Errorf("%v: what is rarely wanted is listed", c.flags)
		}
		if text := client.call("version_service__version", `{}`).text(); !strings.Contains(text, "v3.") {
			t.Errorf("%v: called by its name, a tool that is not listed gives %.200s", c.flags, text)
		}
		if text := client.call("list_applications", `{"summary_only":true,"page_size":1}`).text(); !strings.Contains(text, `"total_items":3`) {
			t.Errorf("%v: an argument that is not shown is not understood: %.200s", c.flags, text)
		}
		var names []string
		for _, tool := range stdioClient(t, newSite(t), append(args, "--tools=all")...).request("tools/list", "{}").Result.Tools {
			names = append(names, tool.Name)
		}
		if !slices.Contains(names, "version_service__version") || !slices.Contains(names, "gpg_key_service__get") {
			t.Errorf("%v --tools=all: %v", c.flags, names)
		}
	}
}
