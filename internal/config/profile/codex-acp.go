package profile

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/limit"
)

// codexConfig is the variable in which codex-acp, measured, takes keys of Codex's configuration: an object whose members are as with -c,
// with dots, or tables. It wins over every file. MODEL_PROVIDER names the provider. codex-acp starts `codex app-server`.
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

// readVariables merges the settings in codex-acp's variables, as Codex does with flags.
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

// setAddress sets the provider's address in codex-acp's variable, in the user's own table of the provider if there is one. If what the
// variable holds cannot be changed, it refuses and sets nothing.
func (c *codex) setAddress(key []string, address string) {
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
