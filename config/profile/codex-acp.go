package profile

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/limit"
)

// codex-acp, measured. It starts `codex app-server` and hands it CODEX_CONFIG, an object whose members are keys of Codex's configuration
// as -c takes them: with dots, or as tables. It stands above every file. MODEL_PROVIDER names the provider.
const codexConfig = "CODEX_CONFIG"

var _ = add(Agent{
	Name: "codex-acp", Title: "codex-acp", Packages: []string{"@agentclientprotocol/codex-acp"},
	InitialEstimate: 4096 * limit.MiB, // Codex's
	Source:          "measured: 2.6.0", Compacts: true, plan: planCodex,
	Adapter: &Adapter{
		Agent: "codex",
		Child: func(argv []string) bool { // node is what looks for the program, and starts it
			return slices.Contains(argv, "app-server") && stem(argv[0]) != "node"
		},
	},
})

// readVariables takes what the variables of codex-acp say, as Codex takes the flags.
func (c *codex) readVariables() {
	if v := c.get(codexConfig); v != "" {
		said := map[string]any{}
		if err := json.Unmarshal([]byte(v), &said); err != nil {
			c.refuse("%s is no JSON object; correct it, the adapter does not start with it either", codexConfig)
			return
		}
		for key, value := range said {
			c.override(key, value)
		}
	}
	if v := c.get("MODEL_PROVIDER"); v != "" {
		c.config["model_provider"] = v
	}
}

// point gives codex-acp the address, in the user's own table of the provider where there is one.
func (c *codex) point(key []string, address string) {
	content := []byte(c.get(codexConfig))
	if len(content) == 0 {
		content = []byte("{}")
	}
	var said map[string]any
	_ = json.Unmarshal(content, &said)
	path := []string{strings.Join(key, ".")}
	if said[path[0]] == nil && said[key[0]] != nil {
		path = key
	}
	content, err := setMember(content, path, address)
	if err != nil {
		c.refuse("what %s says of %s could not be changed", codexConfig, strconv.Quote(key[0]))
		return
	}
	c.set(codexConfig, string(content))
}
