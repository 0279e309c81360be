package profile_test

import (
	"fmt"
	"io/fs"

	"github.com/plimsoll/plimsoll/internal/config/profile"
)

// A tool with a profile is given the proxy's address in its own way.
func Example() {
	none := func(string) ([]byte, error) { return nil, fs.ErrNotExist } // a home without settings
	for _, command := range [][]string{{"codex", "exec", "fix the tests"}, {"claude", "-p", "fix the tests"}, {"gemini", "-p", "fix the tests"}} {
		p, _ := profile.Find(command[0])
		s, err := p.Plan(profile.Setup{
			Argv: command, Environ: []string{"HOME=/home/ann", "CODEX_API_KEY=…", "GEMINI_API_KEY=…"}, Dir: "/home/ann/work",
			Root: "http://127.0.0.1:4711/token", ReadFile: none,
		})
		if err != nil {
			panic(err)
		}
		if s.Why != "" {
			fmt.Printf("no proxy, because %.56s…\n", s.Why)
			continue
		}
		fmt.Println(s.Argv)
		for _, v := range s.Env {
			fmt.Printf("  %s=%s\n", v.Name, v.Value)
		}
		for _, u := range s.Upstreams {
			fmt.Println("  reaches", u.URL)
		}
	}
	// Output:
	// [codex -c openai_base_url="http://127.0.0.1:4711/token/openai/v1" exec fix the tests]
	//   reaches https://api.openai.com/v1
	// [claude -p fix the tests]
	//   ANTHROPIC_BASE_URL=http://127.0.0.1:4711/token/anthropic
	//   _CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL=1
	//   ENABLE_TOOL_SEARCH=true
	//   reaches https://api.anthropic.com
	// no proxy, because Gemini CLI has no way of logging in selected, and an add…
}
