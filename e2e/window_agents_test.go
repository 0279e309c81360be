//go:build linux || darwin

package e2e

import (
	"fmt"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// An agent is a real CLI that works through a task without asking anybody.
type agent struct {
	name string
	// settle writes its settings: base is the provider's address as the tool's own settings
	// take it, "" for none.
	settle func(t *testing.T, w *world, base string)
	env    func(base string) []string
	argv   func(prompt string) []string
	resume func(prompt string) []string // goes on with the newest session
	label  string                       // of a variant
	// base is where the tool's base URL ends below the provider's address.
	base string
	// host is where it goes without a base URL.
	host string
}

var agents = []agent{
	{
		name: "claude", host: "api.anthropic.com",
		settle: func(*testing.T, *world, string) {},
		env: func(base string) []string {
			env := []string{"ANTHROPIC_API_KEY=" + key, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"}
			if base != "" {
				env = append(env, "ANTHROPIC_BASE_URL="+base)
			}
			return env
		},
		argv: func(prompt string) []string { return []string{"-p", prompt, "--allowedTools", "Bash"} },
		resume: func(prompt string) []string {
			return []string{"--continue", "-p", prompt, "--allowedTools", "Bash"}
		},
	},
	{
		name: "codex", base: "/v1", host: "api.openai.com",
		settle: func(t *testing.T, w *world, base string) {
			config := "check_for_update_on_startup = false\n"
			if base != "" {
				config = fmt.Sprintf("openai_base_url = %q\n", base) + config
			}
			write(t, config, w.home, ".codex", "config.toml")
			write(t, quoted(t, map[string]any{"auth_mode": "apikey", "OPENAI_API_KEY": key}), w.home, ".codex", "auth.json")
		},
		env: func(string) []string { return nil },
		argv: func(prompt string) []string {
			return []string{"exec", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", prompt}
		},
		resume: func(prompt string) []string {
			return []string{"exec", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", "resume", "--last", prompt}
		},
	},
	{
		name: "gemini", host: "generativelanguage.googleapis.com",
		settle: func(t *testing.T, w *world, _ string) {
			write(t, `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false}}`, w.home, ".gemini", "settings.json")
		},
		env: func(base string) []string {
			env := []string{"GEMINI_API_KEY=" + key, "GEMINI_CLI_TRUST_WORKSPACE=true"}
			if base != "" {
				env = append(env, "GOOGLE_GEMINI_BASE_URL="+base)
			}
			return env
		},
		argv:   func(prompt string) []string { return []string{"-y", "-p", prompt} },
		resume: func(prompt string) []string { return []string{"-y", "--resume", "latest", "-p", prompt} },
	},
	{
		name: "opencode", base: "/v1", host: "api.openai.com",
		settle: func(t *testing.T, w *world, base string) {
			if base != "" {
				write(t, quoted(t, map[string]any{"provider": map[string]any{"openai": map[string]any{"options": map[string]any{"baseURL": base}}}}),
					w.home, ".config", "opencode", "opencode.json")
			}
		},
		env: func(string) []string {
			return []string{"OPENAI_API_KEY=" + key, "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"}
		},
		argv: func(prompt string) []string { return []string{"run", "-m", "openai/gpt-5.1", prompt} },
		resume: func(prompt string) []string {
			return []string{"run", "--continue", "-m", "openai/gpt-5.1", prompt}
		},
	},
}

// An errand is one run of an agent.
type errand struct {
	base   string   // what the tool takes for its provider; "" for the official one
	proxy  string   // HTTP proxy of the environment; "" for one that does not answer
	env    []string // more
	prompt string
	resume bool     // the newest session is gone on with
	args   []string // more of the tool's arguments
	flags  []string // of plimsoll run; nil runs it bare
	report string   // file for the report
}

// start runs the agent in a world of its own and waits for its end.
func (a agent) start(t *testing.T, w *world, e errand) result {
	t.Helper()
	path := installed(t, a.name)
	a.settle(t, w, e.base)
	words := a.argv
	if e.resume {
		words = a.resume
	}
	argv := slices.Concat([]string{path}, words(e.prompt), e.args)
	if e.flags != nil {
		argv = slices.Concat([]string{plimsoll, "run", "--force", "--quiet", "--report", e.report}, e.flags, []string{"--"}, argv)
	}
	return w.run(a.apart(e), argv...)
}

// apart keeps an agent from the machine's own settings and from the network.
func (a agent) apart(e errand) func(*exec.Cmd) {
	proxy := e.proxy
	if proxy == "" {
		proxy = "http://127.0.0.1:9"
	}
	return func(cmd *exec.Cmd) {
		// Nothing of the machine's own agents, nobody but loopback in reach.
		cmd.Env = slices.DeleteFunc(cmd.Env, func(kv string) bool {
			name, _, _ := strings.Cut(kv, "=")
			for _, prefix := range []string{"ANTHROPIC_", "OPENAI_", "CODEX_", "CLAUDE", "COPILOT_", "GEMINI_", "GOOGLE_", "OPENCODE", "QWEN_", "XDG_", "AWS_"} {
				if strings.HasPrefix(name, prefix) {
					return true
				}
			}
			return strings.HasSuffix(strings.ToLower(name), "_proxy")
		})
		for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
			cmd.Env = append(cmd.Env, name+"="+proxy)
		}
		if e.proxy == "" && e.flags == nil {
			// Bare, the tool is told how to reach the provider; Plimsoll sees to it by itself.
			cmd.Env = append(cmd.Env, "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
		}
		cmd.Env = append(append(cmd.Env, a.env(e.base)...), e.env...)
	}
}

// provide starts a scripted provider and returns it with its address.
func provide(t *testing.T, o scripted.Options) (*scripted.Provider, string) {
	t.Helper()
	p := scripted.New(o)
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	return p, s.URL
}

// logs writes n files of about 24 KB each, all lines different, and returns the commands
// that show them. No tool cuts so little.
func logs(t *testing.T, w *world, n int) []string {
	t.Helper()
	var commands []string
	for i := range n {
		var text strings.Builder
		for line := 0; text.Len() < 24_000; line++ {
			fmt.Fprintf(&text, "%04d step %d of part %d took longer than the one before it and wrote its result to a place of its own\n", line, line*7919%1000, i)
		}
		name := fmt.Sprintf("part-%02d.log", i)
		testfile.Write(t, filepath.Join(w.work, name), text.String())
		commands = append(commands, "cat "+name)
	}
	return commands
}
