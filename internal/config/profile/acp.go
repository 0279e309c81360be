package profile

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/limit"
)

// claude-agent-acp, measured behind node, npx and by itself. It starts Claude Code's own program for each session, with its environment,
// and has that read the settings of the user and of the project without asking for trust. None of Claude Code's flags can be given.
var _ = add(Agent{
	Name: "claude-agent-acp", Title: "claude-agent-acp", Aliases: []string{"claude-code-acp"},
	Packages:        []string{"@agentclientprotocol/claude-agent-acp", "@zed-industries/claude-agent-acp", "@zed-industries/claude-code-acp"},
	InitialEstimate: 4096 * limit.MiB, // Claude Code's
	Source:          "measured: 0.101.0", Compacts: true, plan: planClaude,
	Adapter: &Adapter{
		Agent: "claude",
		Child: func(argv []string) bool {
			return len(argv) > 0 && stem(argv[0]) == "claude" || slices.ContainsFunc(argv, func(arg string) bool {
				return strings.HasSuffix(arg, "/claude-agent-sdk/cli.js") // as older ones have it
			})
		},
	},
})

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

// point sets the address in codex-acp's variable, in the user's own table of the provider if there is one.
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
