package config

import (
	"strings"
	"testing"
)

func FuzzDocument(f *testing.F) {
	for _, s := range []string{
		"", "[resources]\nmemory_max = '4G'\n", "[resources]\nmemory_max = \"4GG\"\nmemory_max_mb=1", "[tools.codex.resources]\nlayers = ['rlimit', 1]\n",
		"tools = { a = { match = ['x'], grace = '1s' } }", "[[resources]]\nx=1", "[window]\n", "[resources.max_concurrent]\ncodex = 9_9\n", "x", "[", "a.b.c.d.e.f.g.h = 1",
		"[resources]\nwait = \"\xff\"", "[resources]\npids_max = 99999999999999999999", "'' = 1", "[tools.'']\npids_max = 1", "a = [[[[[[[[[1]]]]]]]]]", "\r\n\r", "[resources]\ngrace=2026-11-20",
		"tools = { b = { match = [' '],0000000= '00' } }", "[tools.b]\nmatch = ['a,b', ' c', '\"d\"', '\"e', 'f\"']",
		"[mcp.servers.a]\ncommand = ['sh', '', '-c', 'echo a, b', \"\\t\\n\", '\"x\" y']\nenv = ['A=b,c']",
		"[agents.a]\nmodel = ' m'\nservers = ['argocd', 'x']\nprompt = \"\"\"\na\n\"\"\"\ntrigger = 0.3\nkey = 1", "agents = { a = { prompt_file = 'p', window = 2000, max_output = 1000 }, b = 1 }", "[agents]\n[agents.A]\na2a=true\n[agents.a]\na2a=true",
		"[watch]\nnotify = ['sh', '', 'a b', \"it's\\n\", '$x']", "[watch]\nnotify = 'https://host/a?b=c'", "[watch]\nnotify = 'tell \"a b\" --now'",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > maxFile {
			return
		}
		var probs problems
		entries := parseDocument("f.toml", OriginUser, data, &probs)
		lines := 1 + strings.Count(string(data), "\n")
		for _, p := range probs.list {
			if p.Where.File != "f.toml" || p.Where.Line < 1 || p.Where.Line > lines || p.Where.Column < 1 || p.What == "" || p.Fix == "" {
				t.Fatalf("%q: problem without place or next step: %+v", data, p)
			}
		}
		l := &Loaded{cpus: 2, names: map[string]string{}}
		l.byOrigin[OriginDefault.rank()], l.byOrigin[OriginProfile.rank()] = defaults()
		l.byOrigin[OriginProject.rank()] = entries
		if agents, err := l.Agents(); len(agents) > 0 || err != nil {
			t.Fatalf("%q: a project file sets up agents: %+v, %v", data, agents, err)
		}
		own := &Loaded{cpus: 2, names: map[string]string{}, byOrigin: l.byOrigin}
		own.byOrigin[OriginProject.rank()], own.byOrigin[OriginUser.rank()] = nil, entries
		agents, _ := own.Agents()
		for _, a := range agents {
			if SafeName(a.Name) != a.Name || a.MaxSteps < 1 || a.Window < 0 || a.MaxStepResult < 1 || a.Source.Line < 1 {
				t.Fatalf("%q: %+v", data, a)
			}
		}
		for at, e := range entries {
			if e.key == nil || e.src.Line < 1 || at.tool != "" && SafeName(e.tool) != e.tool {
				t.Fatalf("%q: entry %+v %+v", data, at, e)
			}
			if again, err := e.key.parse(written{form: formText, text: format(e.value)}, Alias{Name: e.key.Name}); err != nil || format(again) != format(e.value) {
				t.Fatalf("%q: %s is shown as %q, which reads as %v, %v", data, e.name, format(e.value), again, err)
			}
			s, err := l.For(e.tool)
			if err != nil || s.Enforcement == EnforcementOff || s.SharedLedger != "" || len(s.Layers) != 6 {
				t.Fatalf("%q: a project file weakens the settings of %q: %+v, %v", data, e.tool, s, err)
			}
		}
	})
}

func FuzzTool(f *testing.F) {
	for _, s := range []string{
		"npx\x00-y\x00@openai/codex", "sh\x00-c\x00exec \"$(x\x00", "env\x00-S\x00env -S env", "python\x00-m", "bash\x00-c\x00a'b\\", "timeout\x00-k", "\xff\x00", "npx\x00-c\x00sh -c 'sh -c x'",
		"bun\x00run\x00x", "uv\x00run\x00-m\x00a.b", "sh\x00-o", "cmd\x00/c", "node\x00/dev/zero", "a=b", "env\x00a=b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		argv := strings.Split(command, "\x00")
		if len(argv) == 0 || strings.Contains(argv[0], "/") {
			return // reading files of this machine is no fuzzing
		}
		m := (&Loaded{dir: t.TempDir(), names: map[string]string{}}).Tool(argv)
		if SafeName(m.Tool) != m.Tool || len(m.Tool) > maxToolName+len("tool-") || strings.ContainsAny(m.Tool, "/\\\x00 ") || strings.HasPrefix(m.Tool, ".") {
			t.Fatalf("%q: name %q is not safe", argv, m.Tool)
		}
		if len(m.Via) > maxLaunchers+1 {
			t.Fatalf("%q: %d launchers", argv, len(m.Via))
		}
	})
}
