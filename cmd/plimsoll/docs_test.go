package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/agents"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/demo"
	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/app/run"
	"github.com/plimsoll/plimsoll/internal/app/watch/top"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/process/runtimes"
	"github.com/plimsoll/plimsoll/internal/process/termination"
	"github.com/plimsoll/plimsoll/internal/watch/notify"
	"github.com/plimsoll/plimsoll/journal"
)

var exitComment = regexp.MustCompile(`#\s*exit (\d+)\s*$`)

// What a guide shows as a session works as shown: a block marked "console" is typed into a
// shell, its lines beginning with "$ ". The lines between are in the output, in their order,
// with "…" for anything; "# exit N" is the status if it is not 0. A block "console example"
// needs what a test does not have, or shows what differs between machines, and is not run.
func TestGuidesShowWhatHappens(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the guides show a POSIX shell")
	}
	ran := 0
	for _, g := range guides(t) {
		for _, b := range g.blocks {
			if b.info != "console" {
				continue
			}
			s := newSite(t)
			for at := 0; at < len(b.lines); {
				line, ok := strings.CutPrefix(b.lines[at], "$ ")
				if !ok {
					t.Errorf("%s:%d: a console block begins with a command: \"$ plimsoll …\"", g.name, b.line+at)
					break
				}
				var want []string
				where := b.line + at
				for at++; at < len(b.lines) && !strings.HasPrefix(b.lines[at], "$ "); at++ {
					want = append(want, b.lines[at])
				}
				status := 0
				if m := exitComment.FindStringSubmatch(line); m != nil {
					status, _ = strconv.Atoi(m[1])
				}
				cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
				cmd.Dir, cmd.Env = s.dir, s.env
				var out bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &out
				_ = cmd.Run()
				ran++
				if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != status {
					t.Errorf("%s:%d: %s: %v, want status %d:\n%s", g.name, where, line, cmd.ProcessState, status, out.Bytes())
				}
				if missing := notShown(out.String(), want); missing != "" {
					t.Errorf("%s:%d: %s: the guide shows %q, which is not in\n%s", g.name, where, line, missing, out.Bytes())
				}
			}
		}
	}
	if ran < 5 {
		t.Errorf("only %d commands were run: this test holds next to nothing", ran)
	}
}

// notShown is the first wanted line that the output does not have behind the ones before.
func notShown(out string, want []string) string {
	lines := strings.Split(out, "\n")
	for _, w := range want {
		words := strings.Join(strings.Fields(w), " ")
		if words == "" {
			continue
		}
		re := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(words), "…", ".*") + "$")
		at := slices.IndexFunc(lines, func(l string) bool { return re.MatchString(strings.Join(strings.Fields(l), " ")) })
		if at < 0 {
			return w
		}
		lines = lines[at+1:]
	}
	return ""
}

func TestNotShown(t *testing.T) {
	out := "a  b\nc 12 MiB\nd\n"
	for _, good := range [][]string{{"a b"}, {"a b", "c … MiB"}, {"…", "d"}, nil, {""}} {
		if line := notShown(out, good); line != "" {
			t.Errorf("%q: %q is missing", good, line)
		}
	}
	for _, bad := range [][]string{{"a"}, {"d", "a b"}, {"d", "d"}, {"c … GiB"}} {
		if notShown(out, bad) == "" {
			t.Errorf("%q is found in %q", bad, out)
		}
	}
}

// shellWord is enough of a shell's grammar for command lines in a guide.
var shellWord = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"|;&]+|[|;&]+`)

// Every command and flag of plimsoll that a guide names exists.
func TestGuidesNameRealFlags(t *testing.T) {
	root := newRootCommand(nil)
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	any := map[string]bool{"--help": true, "--version": true}
	for _, c := range commandsBelow(root) {
		c.InitDefaultHelpFlag()
		for _, name := range flagsOf(c) {
			any[name] = true
		}
	}
	found := 0
	for _, g := range guides(t) {
		for _, code := range g.code() {
			words := shellWord.FindAllString(code.text, -1)
			for i, w := range words {
				if w != "plimsoll" && !strings.HasSuffix(w, "/plimsoll") || i+1 == len(words) || i > 0 && words[i-1] == "-C" {
					continue
				}
				if bad := wrongIn(root, words[i+1:]); bad != "" {
					t.Errorf("%s:%d: %q: there is no %s", g.name, code.line, code.text, bad)
				}
				found++
			}
			name, _, _ := strings.Cut(strings.Fields(code.text + " x")[0], "=")
			name, _, _ = strings.Cut(name, "[")
			if strings.HasPrefix(name, "--") && len(name) > 2 && !any[name] && !strings.HasPrefix(g.name, "CONTRIBUTING") && !foreignFlags[name] {
				t.Errorf("%s:%d: %q: no command has the flag %s", g.name, code.line, code.text, name)
			}
		}
	}
	if found < 30 {
		t.Errorf("the guides name plimsoll %d times only: is the text still taken apart as it is written?", found)
	}
}

// foreignFlags are flags of other programs that a guide names alone.
var foreignFlags = map[string]bool{"--security-opt": true, "--settings": true, "--openai-base-url": true, "--mcp-config": true, "--strict-mcp-config": true, "--to": true, "--uninstall": true, "--max-old-space-size": true, "--content-window-size": true, "--gh-host": true}

func commandsBelow(c *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		list = append(list, commandsBelow(sub)...)
	}
	return list
}

func flagsOf(c *cobra.Command) []string {
	var names []string
	add := func(f *pflag.Flag) {
		names = append(names, "--"+f.Name)
		if f.Shorthand != "" {
			names = append(names, "-"+f.Shorthand)
		}
	}
	c.Flags().VisitAll(add)
	c.InheritedFlags().VisitAll(add)
	return names
}

// wrongIn is the first word of a command line that plimsoll does not know, or "".
func wrongIn(root *cobra.Command, words []string) string {
	c := root
	value := false // the word is the value of the flag before it
	for _, w := range words {
		if value {
			value = false
			continue
		}
		switch {
		case w == "--" || strings.ContainsAny(w, "|;&#`") || w == "…":
			return ""
		case strings.HasPrefix(w, "-") && w != "-": // "-" alone is standard input
			name, _, _ := strings.Cut(w, "=")
			name, _, _ = strings.Cut(name, "[")
			if c == root && (name == "--help" || name == "--version") {
				continue
			}
			if !slices.Contains(flagsOf(c), name) {
				return "flag " + name + " of " + c.CommandPath()
			}
			value = c.HasSubCommands() && !strings.Contains(w, "=") && takesValue(c, name)
		case c.HasSubCommands():
			at := slices.IndexFunc(c.Commands(), func(sub *cobra.Command) bool { return sub.Name() == w })
			if at < 0 && strings.Contains(c.Use, "[TOOL") {
				continue // it takes words of its own beside commands, as stats does
			}
			if at < 0 {
				if strings.ToLower(w) != w || strings.Contains(w, "|") {
					return "" // TOOL stands for a word
				}
				return "command " + w
			}
			c = c.Commands()[at]
		}
	}
	return ""
}

// takesValue says whether the next word belongs to a flag.
func takesValue(c *cobra.Command, name string) bool {
	f := c.Flags().Lookup(strings.TrimLeft(name, "-"))
	return f != nil && f.NoOptDefVal == "" && strings.HasPrefix(name, "--")
}

func TestWrongIn(t *testing.T) {
	root := newRootCommand(nil)
	for line, want := range map[string]string{
		"run --wait=10m -- claude --weit": "",
		"run --weit -- claude":            "flag --weit of plimsoll run",
		"config show --tool codex":        "",
		"stats TOOL --all":                "",
		"statistics":                      "command statistics",
		"config shaw":                     "command shaw",
		"gc -n":                           "",
		"gc -m":                           "flag -m of plimsoll gc",
		"mcp --url https://x --url=y":     "",
		"mcp --read-only wrop FILE":       "command wrop",
		"mcp wrap FILE --undue":           "flag --undue of plimsoll mcp wrap",
	} {
		if got := wrongIn(root, strings.Fields(line)); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// keyName is a name as keys have them: words with underscores between.
var keyName = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)+$`)

// foreignNames are names with underscores that guides use and that are not ours.
var foreignNames = []string{
	"api_key_env",
	"model_context_window", "ru_maxrss", "oom_score_adj", "inactive_file", "peak_rss", "proc_info", "previous_response_id", "drop_block", "item_reference", "compaction_trigger", "compact_threshold", "context_management", "image_generation_call", "input_required", "mcp_servers", "context_servers",
	"tail_lines", "create_agent", "create_react_agent", "create_deep_agent", "pre_model_hook",
}

// addedNames are those of the tools that the MCP gateway adds, of their arguments, and of
// what it says of a page.
var addedNames = []string{"result_page", "result_search", "result_query", "plimsoll_result_page", "tool_search", "tool_call", "page_size", "total_items", "total_pages"}

// Every key, environment variable and TOML example that a guide names is understood.
func TestGuidesNameRealKeys(t *testing.T) {
	known, tables := map[string]bool{}, map[string]string{}
	variables := map[string]bool{
		"PLIMSOLL_STATE_DIR": true, "PLIMSOLL_CACHE_DIR": true, "PLIMSOLL_CONFIG": true, "PLIMSOLL_RUN_ID": true, core.ProxyName: true, termination.Variable: true,
		"PLIMSOLL_RESOURCES_KEY": true, "PLIMSOLL_TOOLS_NAME_KEY": true, "PLIMSOLL_AGENTS_NAME_KEY": true, // as patterns
		agents.SearchFirstName: true, notify.CauseName: true, runtimes.MemoryName: true,
		"PLIMSOLL_GITHUB_MCP_SERVER": true, // of a test of this repository
	}
	for _, k := range config.Keys() {
		known[k.Name], variables[k.Variable()] = true, true
		tables[k.Name] = k.Table
		for _, v := range k.Variables {
			variables[v] = true
		}
		for _, a := range k.Aliases {
			known[a.Name] = true
		}
	}
	for _, v := range []any{journal.Report{}, app.Stat{}, run.Prediction{}, top.Snapshot{}, run.Doctor{}, run.Decision{}, app.Collection{}, mcp.Size{}, mcp.WrapResult{}, journal.WindowCompacted{}, config.MCPServer{}, config.ArgoCDInstance{}, config.Agent{}, config.ModelLimits{}, agents.AskReport{}, agents.Event{}, agents.Listed{}, agents.Session{}, demo.Report{}, demo.Scene{}, notify.Notice{}} {
		jsonNames(reflect.TypeOf(v), known)
	}
	for _, name := range slices.Concat(foreignNames, addedNames, []string{"run_status", "list_runs", "show_run", "predict_run", "tool_timeout", "model_timeout", "words_only", string(notify.ChildKilled)}) {
		known[name] = true
	}
	tools, err := mcp.ArgoCDTools()
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		known[tool.Name] = true
		for _, name := range tool.Arguments {
			known[name] = true
		}
	}
	// The tools of the memory and their arguments, as TestMCPServersStay has them, and the names of what two of them are like.
	memory := testfile.Read(t, recorded("mcp-memory.jsonl"))
	for _, m := range regexp.MustCompile(`"name":"([a-z_0-9]+)"|"([a-z_0-9]+)":\{"type"`).FindAllSubmatch(memory, -1) {
		known[string(m[1])+string(m[2])] = true
	}
	known["str_replace"], known["memory_20250818"], known["plimsoll_window_prefix_breaks_total"] = true, true, true
	known["plimsoll_agent_window_ratio"], known["plimsoll_agent_query_memory_used_bytes"] = true, true
	variable := regexp.MustCompile(`\bPLIMSOLL_[A-Z_]*[A-Z]\b`)
	for _, g := range guides(t) {
		if g.name == "CONTRIBUTING.md" {
			continue // it is about the gate, which has names of its own
		}
		for _, code := range g.code() {
			for _, name := range variable.FindAllString(code.text, -1) {
				if !variables[name] {
					t.Errorf("%s:%d: nothing reads the variable %s", g.name, code.line, name)
				}
			}
		}
		for _, code := range g.spans {
			if g.name == "docs/metrics.md" {
				continue // names of metrics, which the test of that package holds
			}
			key, _, assigned := strings.Cut(code.text, " = ")
			if keyName.MatchString(key) && !known[key] {
				t.Errorf("%s:%d: %q is no key of the configuration and of no JSON", g.name, code.line, key)
			}
			if assigned && keyName.MatchString(key) {
				checkTOML(t, g, code.line, "["+tables[key]+"]\n"+code.text)
			}
		}
		for _, b := range g.blocks {
			if b.info == "toml" {
				checkTOML(t, g, b.line, strings.Join(b.lines, "\n"))
			}
		}
	}
}

func checkTOML(t *testing.T, g guide, line int, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	testfile.Write(t, file, text)
	if err := config.Check(file); err != nil {
		t.Errorf("%s:%d: %v", g.name, line, err)
	}
}

func jsonNames(of reflect.Type, names map[string]bool) {
	switch of.Kind() {
	case reflect.Slice, reflect.Pointer:
		jsonNames(of.Elem(), names)
	case reflect.Struct:
		for f := range of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names[name] = true
			jsonNames(f.Type, names)
		}
	}
}

// Links between guides lead somewhere, and the index has every guide.
func TestGuidesLinkToWhatExists(t *testing.T) {
	list := guides(t)
	index := list[slices.IndexFunc(list, func(g guide) bool { return g.name == "docs/README.md" })]
	for _, g := range list {
		base, inDocs := strings.CutPrefix(g.name, "docs/")
		if inDocs && g.name != index.name && !slices.ContainsFunc(index.links, func(l span) bool { return l.text == base }) {
			t.Errorf("docs/README.md does not list %s", g.name)
		}
	}
	for _, g := range list {
		for _, l := range g.links {
			if strings.Contains(l.text, "://") {
				continue
			}
			file, anchor, _ := strings.Cut(l.text, "#")
			target := g.name
			if file != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(g.name), file))
			}
			if _, err := os.Stat(filepath.Join("../..", target)); err != nil {
				t.Errorf("%s:%d: the link to %s leads nowhere", g.name, l.line, l.text)
				continue
			}
			at := slices.IndexFunc(list, func(o guide) bool { return o.name == target })
			if anchor != "" && at >= 0 && !slices.Contains(list[at].heads, anchor) {
				t.Errorf("%s:%d: %s has no heading %q, only %q", g.name, l.line, target, anchor, list[at].heads)
			}
		}
	}
}
