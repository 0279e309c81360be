//go:build linux || darwin

package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/night"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// A cli is one real agent: how its first-run questions are answered beforehand, and
// words of its start-up screen. VERSION is the one that is installed.
type cli struct {
	name   string
	folder string // of its package
	settle func(t *testing.T, w *world)
	screen []string
}

func write(t *testing.T, text string, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	testfile.Write(t, name, text)
}

func quoted(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const key = "not-a-key-of-anybody" // what the tools find in the place of an API key

var clis = []cli{
	{
		name: "claude", folder: "@anthropic-ai/claude-code",
		// Onboarding would call home first; the folder would ask to be trusted.
		settle: func(t *testing.T, w *world) {
			write(t, quoted(t, map[string]any{
				"hasCompletedOnboarding": true,
				"theme":                  "dark",
				"customApiKeyResponses":  map[string]any{"approved": []string{key}},
				"projects":               map[string]any{w.work: map[string]any{"hasTrustDialogAccepted": true}},
			}), w.home, ".claude.json")
		},
		screen: []string{"Claude Code", "vVERSION", "? for shortcuts"},
	},
	{
		name: "codex", folder: "@openai/codex",
		settle: func(t *testing.T, w *world) {
			write(t, fmt.Sprintf(`model_provider = "nobody"
check_for_update_on_startup = false
[model_providers.nobody]
name = "nobody"
base_url = "http://127.0.0.1:9/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
[projects.%s]
trust_level = "trusted"
`, quoted(t, w.work)), w.home, ".codex", "config.toml")
		},
		screen: []string{"OpenAI Codex", "(vVERSION)", "Ask Codex to do anything"},
	},
	{
		name: "gemini", folder: "@google/gemini-cli",
		settle: func(t *testing.T, w *world) {
			write(t, `{"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":false}}}`, w.home, ".gemini", "settings.json")
		},
		screen: []string{"Gemini CLI", "vVERSION", "Type your message"},
	},
}

// alone is an environment in which the tools reach nobody.
var alone = []string{
	"HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9", "http_proxy=http://127.0.0.1:9", "https_proxy=http://127.0.0.1:9",
	"NO_PROXY=", "no_proxy=",
	"ANTHROPIC_API_KEY=" + key, "OPENAI_API_KEY=" + key, "GEMINI_API_KEY=" + key,
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
	"CI=", // the tools draw nothing when they think they are in CI
}

// anyway starts a tool also where its usual need is not free: a start-up screen takes a
// tenth of what the profiles reckon for real work, and admission has tests of its own.
var anyway = []string{"--force"}

// clients is the folder in which the agents are installed. By night there is a second one, with their newest releases.
func clients() string { return cmp.Or(os.Getenv("PLIMSOLL_E2E_CLIENTS"), "node_modules") }

// version is that of a package in it.
func version(t *testing.T, folder string) string {
	t.Helper()
	var p struct{ Version string }
	text, err := os.ReadFile(filepath.Join(clients(), folder, "package.json"))
	if err != nil || json.Unmarshal(text, &p) != nil || p.Version == "" {
		t.Fatalf("the version of %s: %v", folder, err)
	}
	return p.Version
}

// installed is the path of a tool in node_modules.
func installed(t *testing.T, name string) string {
	t.Helper()
	long(t, "it starts "+name)
	path, err := filepath.Abs(filepath.Join(clients(), ".bin", name))
	if err == nil {
		_, err = os.Stat(path)
	}
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") == "true":
		t.Fatalf("%s is not installed (npm ci --prefix e2e): %v", name, err)
	default:
		t.Skipf("%s is not installed: run .ci/run e2e, or npm ci --prefix e2e", name)
	}
	return ""
}

func TestAgentPrints(t *testing.T) {
	for _, tool := range clis {
		for _, flag := range night.Else([]string{"--version", "--help"}, []string{"--help"}) { // by day the longer of the two
			t.Run(tool.name+flag, func(t *testing.T) {
				command := []string{installed(t, tool.name), flag}
				w := newWorld(t)
				reach := func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, alone...) }
				want := w.run(reach, command...)
				if want.status != 0 || want.stdout == "" {
					t.Fatalf("bare: status %d, stdout %q, stderr %q", want.status, clip(want.stdout), clip(want.stderr))
				}
				everyLayer(t, func(t *testing.T, m mode) {
					w := &world{t: t, home: w.home, work: w.work, state: w.state, cookie: w.cookie}
					w.renew()
					if got := w.run(reach, m.argv(anyway, command...)...); got != want {
						t.Errorf("status %d, bare %d\nstdout %q\nbare   %q\nstderr %q\nbare   %q",
							got.status, want.status, clip(got.stdout), clip(want.stdout), clip(got.stderr), clip(want.stderr))
					}
					w.nothingLeft()
				})
			})
		}
	}
}

func TestAgentStartsUp(t *testing.T) {
	for _, tool := range clis {
		t.Run(tool.name, func(t *testing.T) {
			path := installed(t, tool.name)
			everyMode(t, func(t *testing.T, m mode) {
				w := newWorld(t)
				tool.settle(t, w)
				c := w.open(alone, m.argv(anyway, path)...)
				for _, words := range tool.screen {
					c.expectAnywhere(strings.ReplaceAll(words, "VERSION", version(t, tool.folder)))
				}
				time.Sleep(2 * time.Second) // Claude Code draws its screen before it takes keys
				status := c.interrupt()
				if status != 0 {
					t.Errorf("status %d after Ctrl-C, want 0; the terminal shows\n%s", status, c.shows())
				}
				c.restored()
				if m != bare {
					w.nothingLeft() // bare, Codex leaves two daemons
				}
			})
		})
	}
}

// expectAnywhere waits until text has appeared at any time since the start: a screen is
// not drawn in the order in which it is read.
func (c *console) expectAnywhere(text string) {
	c.t.Helper()
	c.mu.Lock()
	c.seen = 0
	c.mu.Unlock()
	c.expect(text)
}

// interrupt presses Ctrl-C twice within half a second, as these tools ask for, and again
// after a long while if that was lost: a third one while a tool tidies up would upset it, and in an
// emulated machine with more to do than processors that takes tens of seconds.
// It returns the status.
func (c *console) interrupt() int {
	c.t.Helper()
	end := time.After(2 * patience)
	for {
		for _, pause := range []time.Duration{400 * time.Millisecond, patience / 2} {
			c.press(ctrlC)
			select {
			case <-c.ended:
				return c.status
			case <-end:
				c.t.Fatalf("%v of Ctrl-C have not ended %q; the terminal shows\n%s", 2*patience, short(c.cmd.Args), c.shows())
			case <-time.After(pause):
			}
		}
	}
}
