package config_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plimsoll/plimsoll/internal/config"
)

func TestToolIsFoundBehindLaunchers(t *testing.T) {
	for command, want := range map[string]config.Match{
		"claude":                                         {Tool: "claude", Profile: "claude"},
		"/usr/local/bin/claude --resume":                 {Tool: "claude", Profile: "claude"},
		`C:\Tools\Claude.EXE -p x`:                       {Tool: "claude", Profile: "claude"},
		"codex.cmd exec":                                 {Tool: "codex", Profile: "codex"},
		"gemini-cli":                                     {Tool: "gemini", Profile: "gemini"},
		"goose session":                                  {Tool: "goose", Profile: "goose"},
		"npx @anthropic-ai/claude-code@latest":           {Tool: "claude", Profile: "claude", Via: []string{"npx"}},
		"npx -y @openai/codex exec":                      {Tool: "codex", Profile: "codex", Via: []string{"npx"}},
		"npx -y -p @openai/codex@0.169 run-it":           {Tool: "codex", Profile: "codex", Via: []string{"npx"}},
		"npx --package=@google/gemini-cli -- gemini":     {Tool: "gemini", Profile: "gemini", Via: []string{"npx"}},
		"npx -y some-agent@1.2 --flag":                   {Tool: "some-agent", Via: []string{"npx"}},
		"npx -y @scope/some-agent":                       {Tool: "some-agent", Via: []string{"npx"}},
		"npm exec --yes -- @github/copilot":              {Tool: "copilot", Profile: "copilot", Via: []string{"npm"}},
		"npm x opencode-ai":                              {Tool: "opencode", Profile: "opencode", Via: []string{"npm"}},
		"npm install":                                    {Tool: "npm", Variant: "install"},
		"pnpm dlx @qwen-code/qwen-code":                  {Tool: "qwen", Profile: "qwen", Via: []string{"pnpm"}},
		"yarn dlx cline":                                 {Tool: "cline", Profile: "cline", Via: []string{"yarn"}},
		"bunx opencode-ai":                               {Tool: "opencode", Profile: "opencode", Via: []string{"bunx"}},
		"bun x @openai/codex":                            {Tool: "codex", Profile: "codex", Via: []string{"bun"}},
		"uvx --from aider-chat==0.80 aider":              {Tool: "aider", Profile: "aider", Via: []string{"uvx"}},
		"uvx --python 3.12 aider-chat[help]":             {Tool: "aider", Profile: "aider", Via: []string{"uvx"}},
		"uv tool run aider-chat":                         {Tool: "aider", Profile: "aider", Via: []string{"uv"}},
		"uv run --with x aider":                          {Tool: "aider", Profile: "aider", Via: []string{"uv"}},
		"pipx run --spec aider-chat aider":               {Tool: "aider", Profile: "aider", Via: []string{"pipx"}},
		"python3.12 -m aider --model x":                  {Tool: "aider", Profile: "aider", Via: []string{"python3.12"}},
		"python -X dev -u -maider":                       {Tool: "aider", Profile: "aider", Via: []string{"python"}},
		"python my_agent.py --fast":                      {Tool: "my_agent.py", Via: []string{"python"}},
		"python -c pass claude":                          {Tool: "python", Variant: "code-d74ff0ee"},
		"python":                                         {Tool: "python"},
		"node -r dotenv /x/agent.mjs":                    {Tool: "agent.mjs", Via: []string{"node"}},
		"node -e claude":                                 {Tool: "node", Variant: "code-c857d09d"},
		"env claude":                                     {Tool: "claude", Profile: "claude", Via: []string{"env"}},
		"env -i -u X A=B C=D codex":                      {Tool: "codex", Profile: "codex", Via: []string{"env"}},
		"env - PATH=/bin nice -n 5 timeout -k 5 10 qwen": {Tool: "qwen", Profile: "qwen", Via: []string{"env", "nice", "timeout"}},
		"env":                                          {Tool: "env"},
		"nice -19 stdbuf -oL -e 0 gemini":              {Tool: "gemini", Profile: "gemini", Via: []string{"nice", "stdbuf"}},
		"sudo -u bob -- aider":                         {Tool: "aider", Profile: "aider", Via: []string{"sudo"}},
		"sudo -u claude ls":                            {Tool: "ls", Via: []string{"sudo"}},
		"sh|-c|exec claude --print \"$@\"":             {Tool: "claude", Profile: "claude", Via: []string{"sh"}},
		"bash|-lc|cd /x && A=1 claude; echo done":      {Tool: "claude", Profile: "claude", Via: []string{"bash"}},
		"bash|-c|# claude\necho 'codex; codex' && cat": {Tool: "bash", Variant: "code-76e85556"},
		"sh|-c|exec my-agent --x":                      {Tool: "my-agent", Via: []string{"sh"}},
		"sh|-c|sleep 1":                                {Tool: "sleep", Via: []string{"sh"}},
		"env|-S|node -r x /y/claude.js|arg":            {Tool: "claude", Profile: "claude", Via: []string{"env", "node"}},
		"cmd /c echo hello & exit 3":                   {Tool: "cmd", Variant: "code-3d252530"},
		"cmd /c npm test && claude -p x":               {Tool: "claude", Profile: "claude", Via: []string{"cmd"}},
		"cmd /d /s /c claude.cmd":                      {Tool: "claude", Profile: "claude", Via: []string{"cmd"}},
		"no/such/Thing with args":                      {Tool: "Thing"},
		"..":                                           {Tool: "command"},
		"日本":                                           {Tool: "command"},
		"my agent|x":                                   {Tool: "my-agent"},
		"con.txt":                                      {Tool: "tool-con.txt"},
		"":                                             {Tool: "command"},
	} {
		argv := strings.Split(command, "|")
		if len(argv) == 1 {
			argv = strings.Fields(command)
		}
		if diff := cmp.Diff(want, config.Tool(argv), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", command, diff)
		}
	}
}

func TestToolIsFoundBehindFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("shell scripts and symbolic links")
	}
	w := newWorld(t)
	bin := filepath.Join(w.home, "bin")
	put := func(path, text string) string {
		file := filepath.Join(w.home, path)
		w.write(file, text)
		if err := os.Chmod(file, 0o700); err != nil {
			t.Fatal(err)
		}
		return file
	}
	link := func(to, path string) {
		file := filepath.Join(w.home, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, file); err != nil {
			t.Fatal(err)
		}
	}
	cli := put("lib/node_modules/@anthropic-ai/claude-code/cli.js", "#!/usr/bin/env node\nmain()\n")
	put("lib/node_modules/@anthropic-ai/claude-code/package.json", `{"name":"@anthropic-ai/claude-code","bin":{"claude":"cli.js"}}`)
	deep := put("lib/node_modules/agent-x/dist/esm/main.js", "#!/usr/bin/env node\n")
	put("lib/node_modules/agent-x/dist/esm/package.json", `{"type":"module"}`)
	put("lib/node_modules/agent-x/package.json", `{"name":"agent-x","bin":{"ax":"./dist/esm/main.js"}}`)
	put("lib/node_modules/bad/package.json", `{"name":`)
	bad := put("lib/node_modules/bad/run.js", "")
	link(cli, "bin/ai")
	put("bin/wrapper", "#!/bin/sh\n# starts codex\nset -e\nexport A=1\nif true; then\n  exec \"$HOME/bin/real/claude\" \\\n    --flag \"$@\"\nfi\n")
	put("bin/shim", "#!/bin/sh\nbasedir=$(dirname \"$(echo \"$0\" | sed -e 's,\\\\,/,g')\")\nif [ -x \"$basedir/node\" ]; then\n  exec \"$basedir/node\" \"$basedir/../lib/node_modules/@anthropic-ai/claude-code/cli.js\" \"$@\"\nfi\n")
	put("bin/other", "#!/usr/bin/env bash\nexec python3 /opt/thing.py \"$@\"\n")
	put("bin/late", "#!/bin/sh\n"+strings.Repeat("# padding\n", 4000)+"exec claude\n")
	put("bin/circle", "#!/bin/sh\nexec circle\n")
	w.env("PATH=" + bin)
	l := w.must()
	for command, want := range map[string]config.Match{
		"ai":                     {Tool: "claude", Profile: "claude", Via: []string{"ai"}},
		"node " + cli:            {Tool: "claude", Profile: "claude", Via: []string{"node"}},
		bin + "/wrapper -x":      {Tool: "claude", Profile: "claude", Via: []string{"wrapper"}},
		"shim":                   {Tool: "claude", Profile: "claude", Via: []string{"shim", "node"}},
		"sh " + bin + "/shim":    {Tool: "claude", Profile: "claude", Via: []string{"sh", "node"}},
		"node " + deep:           {Tool: "ax", Via: []string{"node"}},
		"node " + bad:            {Tool: "run.js", Via: []string{"node"}},
		"other":                  {Tool: "other"},
		"env X=1 other":          {Tool: "other", Via: []string{"env"}},
		"late":                   {Tool: "late"},
		"circle":                 {Tool: "circle"},
		"../../../../bin/shim x": {Tool: "claude", Profile: "claude", Via: []string{"shim", "node"}},
	} {
		if diff := cmp.Diff(want, l.Tool(strings.Fields(command)), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", command, diff)
		}
	}
}

func TestTablesOfToolsMatchCommands(t *testing.T) {
	l := newWorld(t).user("[tools.reviewer]\nmatch = ['agent.py', 'rev']\n[tools.My_Agent]\npids_max = 9\n[tools.python]\npids_max = 8\n").must()
	for command, want := range map[string]config.Match{
		"python3 -u src/agent.py":  {Tool: "reviewer", Via: []string{"python3"}},
		"./agent.py":               {Tool: "reviewer"},
		"rev":                      {Tool: "reviewer"},
		"my-agent":                 {Tool: "My_Agent"},
		"python -m aider":          {Tool: "aider", Profile: "aider", Via: []string{"python"}},
		"python -m something_else": {Tool: "python"},
	} {
		if diff := cmp.Diff(want, l.Tool(strings.Fields(command)), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", command, diff)
		}
	}
	for _, name := range []string{"../x", "", " ", "a/b", ".hidden", strings.Repeat("x", 65), "con"} {
		if name == "" {
			continue
		}
		if _, err := l.For(name); err == nil {
			t.Errorf("For(%q) takes a name that is not safe", name)
		}
	}
}

// What cmd.exe runs may be one word with a line in it, as a program passes it on.
func TestTheLineOfWindowsShell(t *testing.T) {
	for line, want := range map[string]config.Match{
		`echo hello & exit 3`:                       {Tool: "cmd", Variant: "code-"},
		`"C:\Program Files\nodejs\claude.cmd" -p x`: {Tool: "claude", Profile: "claude", Via: []string{"cmd"}},
		`cd C:\work&&codex exec "a & b"`:            {Tool: "codex", Profile: "codex", Via: []string{"cmd"}},
		`@(claude|more)`:                            {Tool: "claude", Profile: "claude", Via: []string{"cmd"}},
		`build.bat`:                                 {Tool: "build", Via: []string{"cmd"}},
		``:                                          {Tool: "cmd", Variant: "code-"},
	} {
		got := config.Tool([]string{"cmd.exe", "/d", "/c", line})
		if got.Tool != want.Tool || got.Profile != want.Profile || !slices.Equal(got.Via, want.Via) || !strings.HasPrefix(got.Variant, want.Variant) {
			t.Errorf("%s is %+v, want %+v", line, got, want)
		}
	}
}
