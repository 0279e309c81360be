package wrap_test

import (
	"bytes"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/wrap"
)

// fuzz holds an edit to what it promises: wrapping is stable, and undoing gives the file
// back. That nothing but servers changes and that the file stays valid, Plan itself checks:
// it fails when that is not so, and then with a text that is looked for here.
func fuzz(t *testing.T, path string, data []byte) {
	o := wrap.Options{Command: "/opt/plimsoll", Remote: true}
	change, err := wrap.Plan(path, data, o)
	if err != nil {
		if bytes.Contains([]byte(err.Error()), []byte("fault of Plimsoll")) {
			t.Fatal(err)
		}
		return
	}
	again, err := wrap.Plan(path, change.After, o)
	if err != nil || again.Changed(change.After) {
		t.Fatalf("a second time changes it: %v\n%s", err, wrap.Diff(path, change.After, again.After))
	}
	for i, s := range change.Servers {
		if now := again.Servers[i]; s.Action == wrap.Wrapped && (now.Action != wrap.Already || now.Name != s.Name) {
			t.Fatalf("%+v became %+v", s, now)
		}
	}
	back, err := wrap.Unplan(path, change.After, data)
	if err != nil || !bytes.Equal(back.After, data) && back.Exact {
		t.Fatalf("%v: %q", err, back.After)
	}
	if change.Changed(data) && !back.Exact {
		t.Fatalf("not given back: %q", back.After)
	}
	if _, err := wrap.Unplan(path, change.After, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := wrap.Unplan(path, data, nil); err != nil {
		t.Fatal(err)
	}
	servers, err := wrap.Read(path, data, from)
	if err != nil {
		return
	}
	for _, s := range servers {
		if s.Action != wrap.Left && (len(s.Command) > 0) == (s.URL != "") {
			t.Fatalf("neither to start nor to reach: %+v", s)
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, c := range files {
		f.Add([]byte(c.before))
		f.Add([]byte(c.after))
	}
	f.Add([]byte(`{"mcpServers":{"0":{"command":"","args":["mcp","--name","","--",""]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 64<<10 {
			fuzz(t, "/h/.gemini/settings.json", data)
			fuzz(t, "mcp.json", data)
		}
	})
}

func FuzzTOML(f *testing.F) {
	for _, c := range files {
		f.Add([]byte(c.before))
		f.Add([]byte(c.after))
	}
	f.Add([]byte("[mcp_servers.a]\ncommand='''\nx'''\nargs=[\"\"\"a\\\n b\"\"\", 'c''', ]"))
	f.Add([]byte("mcp_servers=[{url='u?',transport='http',headers={\"\"=''}},[],{url='x',transport='',headers.k='v'}]"))
	f.Add([]byte("[[mcp_servers]]\nurl='u?'\ntransport='http'\n[mcp_servers.headers]\na='b'\n[[mcp_servers.x]]\n[[mcp_servers]]\ncommand='c'"))
	f.Add([]byte("mcp_servers={a={url='u?',http_headers={\"\"=''}},b={url='x',http_headers.k='v'}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 64<<10 {
			fuzz(t, "config.toml", data)
		}
	})
}

func FuzzAgents(f *testing.F) {
	f.Add([]byte(`{"agent_servers":{"a":{"command":"b","args":["c"],"env":{}}, // x
"d":{"type":"registry"},"e":{"command":"f"}},"acp.agents":{"g":{"args":["run","--","h"],"command":"plimsoll"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		o := wrap.Options{Command: "/opt/plimsoll", Agents: true}
		change, err := wrap.Plan("settings.json", data, o)
		if err != nil {
			if bytes.Contains([]byte(err.Error()), []byte("fault of Plimsoll")) {
				t.Fatal(err)
			}
			return
		}
		again, err := wrap.Plan("settings.json", change.After, o)
		if err != nil || again.Changed(change.After) {
			t.Fatalf("a second time changes it: %v\n%s", err, wrap.Diff("settings.json", change.After, again.After))
		}
	})
}
