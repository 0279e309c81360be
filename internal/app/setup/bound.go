package setup

import (
	"github.com/plimsoll/plimsoll/internal/config"
)

// bound asks about, and plans, how much of the window the definitions of tools may take, for clients that give their
// model all of them. Unless somebody chooses it, it stays off: some tools are then found only by a search.
func (s *site) bound() error {
	if len(s.undeferred) == 0 && s.o.ToolsMax == "" || s.o.ToolsMax == "" && (s.o.Yes || s.o.DryRun || s.o.Ask == nil) {
		return nil
	}
	own, err := config.NewDirs(s.o.Getenv).ConfigFile()
	if err != nil {
		return err
	}
	shorts := make([]string, len(s.undeferred))
	for i, path := range s.undeferred {
		shorts[i] = s.shortPath(path)
	}
	of := "clients that give their model all of them"
	if len(shorts) > 0 {
		of = "the clients of " + list(shorts, "and")
	}
	answer, err := s.answer(Question{
		Flag: "tools-max", Text: "Let the definitions of MCP tools take at most 8,000 tokens of each request of " + of + "?",
		About:   "The configuration gets tools_max = \"8k\" in [mcp]: of more, the tools used most are listed and the others found by tool_search.",
		Answers: "Enter: no; y: yes", Given: s.o.ToolsMax, no: true,
	}, func() string { return preview(s.insertion(whatBound, own, toolsMax.text)) })
	if err != nil || answer == "no" {
		return err
	}
	f, i, err := s.insertion(whatBound, own, toolsMax.text)
	return s.insert(Change{What: whatBound, File: own}, f, i, err)
}
