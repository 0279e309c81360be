package agents

import (
	"testing"

	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/config"
)

// A card without skills, or with one that lacks what A2A 1.0 (4.4.5) demands, is refused by the protocol's test kit.
func TestEveryAgentHasSkills(t *testing.T) {
	for name, c := range map[string]config.Agent{
		"built in": {Name: "argocd", Builtin: mcp.ArgoCDName},
		"own":      {Name: "files", Servers: []string{"notes"}},
		"bare":     {Name: "bare"},
	} {
		skills := skillsOf(&openedAgent{config: c})
		if len(skills) == 0 {
			t.Errorf("%s: no skill", name)
		}
		for _, s := range skills {
			if s.ID == "" || s.Name == "" || s.Description == "" || len(s.Tags) == 0 {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
}
