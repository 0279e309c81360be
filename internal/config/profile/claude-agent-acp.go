package profile

import (
	"slices"
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
