package config_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

func TestWindowComesFromEverySource(t *testing.T) {
	w := newWorld(t).user("[window]\ntrigger = 0.7\nmax_tokens = 50_000\n[tools.codex.window]\ntrigger = 0.9\nmode = 'observe'\n[upstream]\nopenai = 'http://127.0.0.1:9/v1/'\n").
		repo("[window]\nmax_tokens = 20000\n").
		env("PLIMSOLL_TOOLS_CODEX_WINDOW_TARGET=0.4", "PLIMSOLL_UPSTREAM_ANTHROPIC=http://127.0.0.1:7", "PLIMSOLL_WINDOW_MIN_MESSAGES=6").
		flag("--no-proxy", "window.proxy", "off")
	codex, other := w.settings("codex"), w.settings("claude")
	if codex.Window.Trigger != 0.9 || codex.Window.Mode != "observe" || codex.Window.Target != 0.4 || codex.Window.Proxy != "off" {
		t.Errorf("codex: %+v", codex.Window)
	}
	if other.Window.Trigger != 0.7 || other.Window.Mode != "enforce" || other.Window.Target != float64(config.Auto) || other.Window.MaxTokens != 20000 || other.Window.MinMessages != 6 {
		t.Errorf("claude: %+v", other.Window)
	}
	if codex.Upstream.OpenAI != "http://127.0.0.1:9/v1" || codex.Upstream.Anthropic != "http://127.0.0.1:7" {
		t.Errorf("upstreams: %+v", codex.Upstream)
	}
	if src := codex.Source("window.trigger"); src.Origin != config.OriginUser || src.Line != 5 {
		t.Errorf("trigger comes from %v", src)
	}
}

// Every variable that people have set already reaches its setting, and one of Plimsoll's
// own wins over it.
func TestVariablesOfOtherPrograms(t *testing.T) {
	w := newWorld(t).env("MAX_CONTEXT_TOKENS=20000", "MIN_MESSAGES_TO_KEEP=2", "ENABLE_AUTO_COMPRESSION=false", "SUMMARIZE_TOOL_OUTPUTS=false",
		"MAX_TOOL_OUTPUT_LENGTH=5000", "LLM_PROVIDER=aws-bedrock", "AZURE_OPENAI_MAX_CONTEXT_TOKENS=1001024", "OPENAI_MAX_CONTEXT_TOKENS=2024",
		"AWS_BEDROCK_MAX_CONTEXT_TOKENS=3024", "ANTHROPIC_MAX_CONTEXT_TOKENS=4024", "GOOGLE_GEMINI_MAX_CONTEXT_TOKENS=5024", "GCP_VERTEXAI_MAX_CONTEXT_TOKENS=6024")
	s := w.settings("").Window
	if s.MaxTokens != 20000 || s.MinMessages != 2 || s.Compact || s.CutResults || s.MaxToolOutput != 5000 || s.Provider != "aws-bedrock" {
		t.Errorf("%+v", s)
	}
	for provider, want := range map[string]int{
		"azure_openai": 1001024, "openai": 2024, "bedrock": 3024, "anthropic": 4024, "gemini": 5024, "vertex": 6024,
	} {
		if got := s.ProviderTokens[provider]; got != want {
			t.Errorf("%s: %d, want %d", provider, got, want)
		}
	}
	w.env("MAX_TOOL_OUTPUT_SIZE=7000", "PLIMSOLL_WINDOW_MAX_TOKENS=30000")
	if s := w.settings("").Window; s.MaxToolOutput != 7000 || s.MaxTokens != 30000 {
		t.Errorf("%+v", s)
	}
	if e, err := w.must().Explain("max_tokens", ""); err != nil || e.Key != "window.max_tokens" || e.Source.String() != "PLIMSOLL_WINDOW_MAX_TOKENS" {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestWindowMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"[window]\ntrigger = 80":                                   "80 is out of range, 0.1 to 0.99; did you mean 0.8?",
		"[window]\ntrigger = nan":                                  "nan is out of range",
		"[window]\ntriger = 0.8":                                   `did you mean "trigger"?`,
		"[window]\nmode = 'on'":                                    "is not one of off, observe, enforce",
		"[window]\nmax_tokens = 12":                                "12 is out of range, 1024 to",
		"[window]\nsummary_key = 'sk-abc'":                         "is not the name of an environment variable",
		"[window]\nsummary_url = 'http://u:p@h/'":                  "a user name or password does not belong",
		"[upstream]\nopenai = 'api.openai.com'":                    "is not a URL with http or https",
		"[upstream]\ngemini = 'https://h/?key=1'":                  "has a query",
		"[serve]\nlisten = 'localhost'":                            "is not HOST:PORT",
		"[serve]\nlisten = 'localhost:99999'":                      `"99999" is not a port`,
		"[serve]\nhosts = ['http://x']":                            "is not the name of a host",
		"[serve]\npush_allow = ['10.0.0.0/8', '10.1.2']":           `"10.1.2" is not the name of a host, an address or a network`,
		"[serve]\npush_allow = ['10.0.0.0/33']":                    "is not the name of a host, an address or a network",
		"[serve]\npush_allow = ['hooks.internal:80']":              "without a port",
		"[serve]\ntls_cert = 'cert.pem'":                           "is not an absolute path",
		"[tools.codex]\ntrigger = 0.9":                             "is a key of table [window]; write it below [tools.codex.window]",
		"[tools.codex.serve]\nlisten = ':1'":                       "concerns all tools, not one; write it below [serve]",
		"[tools.codex]\nwindow = 3":                                "not a table; write [tools.codex.window]",
		"[window]\nmax_tokens = 20000\nmax_context_tokens = 30000": "is set twice",
		"trigger = 0.8":                                            "is a key of table [window]; write it below a line [window]",
	} {
		_, err := newWorld(t).user(text).load()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "sk-abc") {
			t.Errorf("the secret is repeated: %v", err)
		}
	}
	for pair, want := range map[string]string{
		"MAX_CONTEXT_TOKENS=lots":         "MAX_CONTEXT_TOKENS: window.max_tokens: \"lots\" is not an integer or \"auto\"; write MAX_CONTEXT_TOKENS=200000",
		"OPENAI_MAX_CONTEXT_TOKENS=-1":    "OPENAI_MAX_CONTEXT_TOKENS: window.openai_max_tokens: -1 is out of range",
		"ENABLE_AUTO_COMPRESSION=perhaps": "is not true or false",
	} {
		if _, err := newWorld(t).env(pair).load(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", pair, err, want)
		}
	}
}

// A project file comes with a cloned repository: it may not send requests elsewhere, nor
// weaken what its user set.
func TestAProjectMayNotSendRequestsElsewhere(t *testing.T) {
	w := newWorld(t).user("[window]\nmode = 'enforce'\nmax_tokens = 50000\n").
		repo("[upstream]\nopenai = 'http://evil.example/v1'\n[window]\nmode = 'off'\nmax_tokens = 90000\ntrigger = 0.9\nsummary_url = 'http://evil.example'\n")
	s := w.settings("codex")
	if s.Upstream.OpenAI != "https://api.openai.com/v1" || s.Window.Mode != "enforce" || s.Window.MaxTokens != 50000 || s.Window.Trigger != 0.8 ||
		s.Window.SummaryURL != "https://api.openai.com/v1" || len(s.Warnings) != 5 {
		t.Errorf("%+v\n%v", s, s.Warnings)
	}
}

func TestPushAllowIsTheUsersAlone(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	write := func(path, list string) {
		testfile.Write(t, path, "[serve]\npush_allow = "+list+"\n")
	}
	write(filepath.Join(dir, config.ProjectFile), `["127.0.0.0/8"]`)
	environ := []string{"HOME=" + home, "PLIMSOLL_CONFIG=" + filepath.Join(home, "c.toml")}
	write(filepath.Join(home, "c.toml"), `["Hooks.Internal.", "10.1.2.3/8", "::ffff:10.9.9.9"]`)
	l, err := config.Load(config.Options{Dir: dir, Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.For("")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"hooks.internal", "10.0.0.0/8", "10.9.9.9"}; !slices.Equal(s.Serve.PushAllow, want) {
		t.Errorf("push_allow is %v, want %v, without the project's", s.Serve.PushAllow, want)
	}
	l, err = config.Load(config.Options{Dir: dir, Environ: []string{"HOME=" + home}})
	if err != nil {
		t.Fatal(err)
	}
	if s, err = l.For(""); err != nil || len(s.Serve.PushAllow) != 0 || l.ProjectFile == "" || len(s.Warnings) == 0 {
		t.Errorf("a project's file may set it: %v, %v, file %q, warnings %v", s.Serve.PushAllow, err, l.ProjectFile, s.Warnings)
	}
}
