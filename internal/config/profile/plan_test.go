package profile

import (
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const (
	root       = "http://127.0.0.1:4711/token"
	peerRoot   = "http://127.0.0.1:4711/peer"
	secureRoot = "https://127.0.0.1:4712/token"
)

// A row is one way in which a tool is set up, and what has to come of it.
type row struct {
	name    string
	tool    string
	argv    []string
	via     []string
	env     []string
	files   map[string]string
	config  map[string]string // [upstream]
	aws     bool
	secure  bool              // there is an address with TLS
	tty     bool              // on a terminal
	why     string            // part of the reason; "" for a proxy
	args    []string          // the whole command line, when it changes
	set     map[string]string // all variables that change
	reaches []Upstream        // all of them
	private string            // the body of the private file
	models  []ModelLimit      // that the user's own settings speak of
}

func (r row) plan(t *testing.T) Setting {
	t.Helper()
	p, ok := Find(r.tool)
	if r.tool == Generic.Name {
		p, ok = Generic, true
	}
	if !ok {
		t.Fatalf("no profile of %s", r.tool)
	}
	if r.argv == nil {
		r.argv = []string{r.tool}
	}
	before := slices.Clone(r.argv)
	var secure func() (string, []byte, error)
	if r.secure {
		secure = func() (string, []byte, error) { return secureRoot, []byte("OURS\n"), nil }
	}
	s, err := p.Plan(Setup{
		Argv: r.argv, Via: r.via, Environ: append([]string{"HOME=/home/ann", "PATH=/bin"}, r.env...), Dir: "/home/ann/work", Root: root,
		Upstreams: r.config, AWS: r.aws, Terminal: r.tty, Folder: "/run/private", PeerRoot: peerRoot, Secure: secure,
		ReadFile: func(name string) ([]byte, error) {
			if text, ok := r.files[filepath.ToSlash(name)]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(before, r.argv) {
		t.Errorf("the caller's command line became %q", r.argv)
	}
	return s
}

func (r row) check(t *testing.T) {
	s := r.plan(t)
	if r.why != "" {
		if !strings.Contains(s.Why, r.why) {
			t.Errorf("why %q, want words like %q", s.Why, r.why)
		}
		if len(s.Env) > 0 || len(s.Upstreams) > 0 || !slices.Equal(s.Argv, r.argv) && r.argv != nil {
			t.Errorf("without proxy, yet %+v", s)
		}
		return
	}
	if s.Why != "" {
		t.Fatalf("no proxy: %s", s.Why)
	}
	want := r.args
	if want == nil {
		want = r.argv
	}
	if want != nil && !slices.Equal(s.Argv, want) {
		t.Errorf("started as\n%q, want\n%q", s.Argv, want)
	}
	var private strings.Builder
	for _, f := range s.Files {
		private.WriteString(string(f.Body))
	}
	if private.String() != r.private {
		t.Errorf("writes %s, want %s", private.String(), r.private)
	}
	got := map[string]string{}
	for _, v := range s.Env {
		got[v.Name] = v.Value
	}
	for name, value := range r.set {
		if got[name] != value {
			t.Errorf("%s=%q, want %q", name, got[name], value)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("also set: %v", got)
	}
	if !slices.Equal(s.Upstreams, r.reaches) {
		t.Errorf("reaches %+v, want %+v", s.Upstreams, r.reaches)
	}
	if !slices.Equal(s.Models, r.models) {
		t.Errorf("models %+v, want %+v", s.Models, r.models)
	}
}

var (
	anthropic = Upstream{Name: "anthropic", Provider: "anthropic", URL: "https://api.anthropic.com"}
	openai    = Upstream{Name: "openai", Provider: "openai", URL: "https://api.openai.com/v1"}
	google    = Upstream{Name: "gemini", Provider: "gemini", URL: "https://generativelanguage.googleapis.com"}
)

func at(u Upstream, url string) Upstream {
	u.URL = url
	return u
}

func TestPlans(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the rows have the paths of Unix")
	}
	for _, r := range slices.Concat(claudeRows, codexRows, geminiRows, openCodeRows, otherRows, commonRows, projectRows) {
		t.Run(r.tool+"/"+r.name, r.check)
	}
}

var claudeEnv = map[string]string{"ANTHROPIC_BASE_URL": root + "/anthropic", claudeFirstParty: "1", "ENABLE_TOOL_SEARCH": "true"}

const gateway = "https://gateway.example/llm"

var claudeRows = []row{
	{name: "API key", tool: "claude", env: []string{"ANTHROPIC_API_KEY=k"}, set: claudeEnv, reaches: []Upstream{anthropic}},
	{name: "not logged in", tool: "claude", set: claudeEnv, reaches: []Upstream{anthropic}},
	{
		name: "tool search is the user's", tool: "claude", env: []string{"ENABLE_TOOL_SEARCH=auto:5"},
		set: map[string]string{"ANTHROPIC_BASE_URL": root + "/anthropic", claudeFirstParty: "1"}, reaches: []Upstream{anthropic},
	},
	{
		name: "own address", tool: "claude", env: []string{"ANTHROPIC_BASE_URL=" + gateway + "/", "ANTHROPIC_AUTH_TOKEN=t"},
		set: map[string]string{"ANTHROPIC_BASE_URL": root + "/anthropic"}, reaches: []Upstream{at(anthropic, gateway)},
	},
	{
		name: "own address is the official one", tool: "claude", env: []string{"ANTHROPIC_BASE_URL=https://api.anthropic.com"},
		set: claudeEnv, reaches: []Upstream{anthropic},
	},
	{
		name: "configured upstream", tool: "claude", config: map[string]string{"anthropic": "http://127.0.0.1:9"},
		set: claudeEnv, reaches: []Upstream{at(anthropic, "http://127.0.0.1:9")},
	},
	{
		name: "own address wins over the configured one", tool: "claude", env: []string{"ANTHROPIC_BASE_URL=" + gateway}, config: map[string]string{"anthropic": "http://127.0.0.1:9"},
		set: map[string]string{"ANTHROPIC_BASE_URL": root + "/anthropic"}, reaches: []Upstream{at(anthropic, gateway)},
	},
	{
		name: "address in the user's settings", tool: "claude", argv: []string{"claude", "-p", "hi"},
		files: map[string]string{"/home/ann/.claude/settings.json": `{ // mine
			"env": {"ANTHROPIC_BASE_URL": "` + gateway + `",}, }`},
		args: []string{"claude", "--settings", "/run/private/claude-settings.json", "-p", "hi"}, private: `{"env":{"ANTHROPIC_BASE_URL":"` + root + `/anthropic"}}`,
		set: map[string]string{"ANTHROPIC_BASE_URL": root + "/anthropic"}, reaches: []Upstream{at(anthropic, gateway)},
	},
	{
		name: "address in --settings", tool: "claude", argv: []string{"claude", `--settings={"model":"x","env":{"A":"1","ANTHROPIC_BASE_URL":"` + gateway + `"}}`, "-p", "hi"},
		args: []string{"claude", "--settings=/run/private/claude-settings.json", "-p", "hi"}, private: `{"model":"x","env":{"A":"1","ANTHROPIC_BASE_URL":"` + root + `/anthropic"}}`,
		set: map[string]string{"ANTHROPIC_BASE_URL": root + "/anthropic"}, reaches: []Upstream{at(anthropic, gateway)},
	},
	{
		name: "address in the user's file, --settings names a file", tool: "claude", argv: []string{"claude", "--settings", "s.json"},
		files: map[string]string{"/home/ann/work/s.json": `{"model":"x"}`, "/home/ann/.claude/settings.json": `{"env":{"ANTHROPIC_BASE_URL":"` + gateway + `"}}`},
		args:  []string{"claude", "--settings", "/run/private/claude-settings.json"}, private: `{"model":"x","env":{"ANTHROPIC_BASE_URL":"` + root + `/anthropic"}}`,
		set: map[string]string{"ANTHROPIC_BASE_URL": root + "/anthropic"}, reaches: []Upstream{at(anthropic, gateway)},
	},
	{
		name: "settings without an address", tool: "claude", argv: []string{"claude", "--settings", `{"model":"x"}`},
		files: map[string]string{"/home/ann/.claude/settings.json": `{"env":{"OTHER":"1"}}`}, set: claudeEnv, reaches: []Upstream{anthropic},
	},
	{name: "unreadable --settings", tool: "claude", argv: []string{"claude", "--settings", "gone.json"}, why: "--settings"},
	{
		name: "broken user settings", tool: "claude", files: map[string]string{"/home/ann/.claude/settings.json": `{"env":`},
		set: claudeEnv, reaches: []Upstream{anthropic},
	},
	{
		name: "address is managed", tool: "claude", files: map[string]string{claudeManaged()[0]: `{"env":{"ANTHROPIC_BASE_URL":"` + gateway + `"}}`},
		why: "managed settings",
	},
	{
		name: "address in settings, launcher unclear", tool: "claude", argv: []string{"./start-claude"}, via: []string{"start-claude"},
		files: map[string]string{"/home/ann/.claude/settings.json": `{"env":{"ANTHROPIC_BASE_URL":"` + gateway + `"}}`}, why: "start claude itself",
	},
	{name: "Bedrock", tool: "claude", env: []string{"CLAUDE_CODE_USE_BEDROCK=1"}, why: "signed for their host"},
	{
		name: "Bedrock with credentials", tool: "claude", env: []string{"CLAUDE_CODE_USE_BEDROCK=1", "AWS_REGION=eu-west-1"}, aws: true,
		set: map[string]string{
			"ANTHROPIC_BEDROCK_BASE_URL": root + "/bedrock", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": root + "/bedrock", "AWS_BEDROCK_RUNTIME_ENDPOINT": root + "/bedrock",
		},
		reaches: []Upstream{{Name: "bedrock", Provider: "bedrock", URL: "https://bedrock-runtime.eu-west-1.amazonaws.com", SignRegion: "eu-west-1"}},
	},
	{
		name: "Bedrock with a bearer token", tool: "claude", env: []string{"CLAUDE_CODE_USE_BEDROCK=true", "AWS_BEARER_TOKEN_BEDROCK=t"},
		set:     map[string]string{"ANTHROPIC_BEDROCK_BASE_URL": root + "/bedrock"},
		reaches: []Upstream{{Name: "bedrock", Provider: "bedrock", URL: "https://bedrock-runtime.us-east-1.amazonaws.com"}},
	},
	{name: "Bedrock, odd region", tool: "claude", env: []string{"CLAUDE_CODE_USE_BEDROCK=1", "AWS_REGION=x/@evil"}, aws: true, why: "AWS_REGION"},
	{
		name: "Vertex", tool: "claude", env: []string{"CLAUDE_CODE_USE_VERTEX=1", "CLOUD_ML_REGION=europe-west1"},
		set:     map[string]string{"ANTHROPIC_VERTEX_BASE_URL": root + "/vertex"},
		reaches: []Upstream{{Name: "vertex", Provider: "vertex", URL: "https://europe-west1-aiplatform.googleapis.com/v1"}},
	},
	{
		name: "Vertex, global", tool: "claude", env: []string{"CLAUDE_CODE_USE_VERTEX=1", "CLOUD_ML_REGION=global"},
		set:     map[string]string{"ANTHROPIC_VERTEX_BASE_URL": root + "/vertex"},
		reaches: []Upstream{{Name: "vertex", Provider: "vertex", URL: "https://aiplatform.googleapis.com/v1"}},
	},
	{name: "Vertex, many regions", tool: "claude", env: []string{"CLAUDE_CODE_USE_VERTEX=1", "VERTEX_REGION_CLAUDE_4_5_SONNET=x"}, why: "several regions"},
	{name: "Vertex set by a settings file", tool: "claude", files: map[string]string{"/home/ann/.claude/settings.json": `{"env":{"CLAUDE_CODE_USE_FOUNDRY":"1"}}`}, why: "Foundry"},
	{name: "address with a password", tool: "claude", env: []string{"ANTHROPIC_BASE_URL=https://u:p@x.example"}, why: "password"},
	{name: "address of a file", tool: "claude", env: []string{"ANTHROPIC_BASE_URL=file:///etc"}, why: "no http or https"},
	{name: "address with a query", tool: "claude", env: []string{"ANTHROPIC_BASE_URL=https://x.example/?k=v"}, why: "query"},
}

const geminiKey = `{"security":{"auth":{"selectedType":"gemini-api-key"}}}`

var geminiRows = []row{
	{
		name: "API key selected", tool: "gemini", env: []string{"GEMINI_API_KEY=k"}, files: map[string]string{"/home/ann/.gemini/settings.json": geminiKey},
		set: map[string]string{geminiBase: root + "/gemini"}, reaches: []Upstream{google},
	},
	{
		name: "selected in settings of old", tool: "gemini", files: map[string]string{"/home/ann/.gemini/settings.json": `{"selectedAuthType":"gemini-api-key"}`},
		set: map[string]string{geminiBase: root + "/gemini"}, reaches: []Upstream{google},
	},
	{name: "nothing selected", tool: "gemini", env: []string{"GEMINI_API_KEY=k"}, why: "/auth"},
	{
		name: "own address, nothing selected", tool: "gemini", env: []string{"GEMINI_API_KEY=k", geminiBase + "=" + gateway},
		set: map[string]string{geminiBase: root + "/gemini"}, reaches: []Upstream{at(google, gateway)},
	},
	{
		name: "own address in .env", tool: "gemini", files: map[string]string{"/home/ann/.gemini/settings.json": geminiKey, "/home/ann/.env": "export " + geminiBase + "='" + gateway + "' # ours\n"},
		set: map[string]string{geminiBase: root + "/gemini"}, reaches: []Upstream{at(google, gateway)},
	},
	{name: "Google login", tool: "gemini", files: map[string]string{"/home/ann/.gemini/settings.json": `{"security":{"auth":{"selectedType":"oauth-personal"}}}`}, why: "Code Assist"},
	{name: "Google login by variable", tool: "gemini", env: []string{"GOOGLE_GENAI_USE_GCA=true"}, why: "Code Assist"},
	{name: "Vertex", tool: "gemini", env: []string{"GOOGLE_GENAI_USE_VERTEXAI=true", "GOOGLE_API_KEY=k"}, why: "Vertex"},
	{name: "something new", tool: "gemini", files: map[string]string{"/home/ann/.gemini/settings.json": `{"security":{"auth":{"selectedType":"quantum"}}}`}, why: "quantum"},
}

func content(provider string, url string) string {
	return `"` + provider + `":{"options":{"baseURL":"` + url + `"}}`
}

var openCodeRows = []row{
	{
		name: "keys in the environment", tool: "opencode", env: []string{"ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=b", "GEMINI_API_KEY=c"},
		set:     map[string]string{openCodeNames.content(): `{"provider":{` + content("anthropic", root+"/anthropic/v1") + "," + content("google", root+"/gemini/v1beta") + "," + content("openai", root+"/openai/v1") + `}}`},
		reaches: []Upstream{anthropic, google, openai},
	},
	{
		name: "a key in auth.json", tool: "opencode", files: map[string]string{"/home/ann/.local/share/opencode/auth.json": `{"openai":{"type":"api","key":"k"},"anthropic":{"type":"oauth"}}`},
		set: map[string]string{openCodeNames.content(): `{"provider":{` + content("openai", root+"/openai/v1") + `}}`}, reaches: []Upstream{openai},
	},
	{
		name: "what models take", tool: "opencode", env: []string{"OPENAI_API_KEY=b"},
		files: map[string]string{
			"/home/ann/.config/opencode/opencode.json": `{"provider":{"openai":{"models":{"m":{"id":"real-m","limit":{"context":512000,"output":8000}},"n":{"limit":{"context":-1}},"o":{"limit":[]}}}}}`,
		},
		set: map[string]string{openCodeNames.content(): `{"provider":{"openai":{"options":{"baseURL":"` + root + `/openai/v1"}}}}`}, reaches: []Upstream{openai},
		models: []ModelLimit{{"openai", "real-m", 512_000, 8_000}},
	},
	{name: "OAuth only", tool: "opencode", files: map[string]string{"/home/ann/.local/share/opencode/auth.json": `{"anthropic":{"type":"oauth"}}`}, why: "no provider whose address is known"},
	{name: "nothing", tool: "opencode", why: "no provider whose address is known"},
	{
		name: "own addresses", tool: "opencode", env: []string{"OPENAI_API_KEY=b", "GW=gateway.example"},
		files: map[string]string{
			"/home/ann/.config/opencode/opencode.jsonc": `{"provider":{"openai":{"options":{"baseURL":"https://one.example/v1"}},"mine":{"npm":"@ai-sdk/openai-compatible","options":{"baseURL":"https://{env:GW}/llm"}}}}`,
			"/home/ann/opencode.json":                   `{"provider":{"openai":{"options":{"baseURL":"https://two.example/v1"}},"claude":{"npm":"@ai-sdk/anthropic","options":{"baseURL":"https://c.example/v1"}}}}`,
		},
		set:     map[string]string{openCodeNames.content(): `{"provider":{` + content("claude", root+"/claude/v1") + "," + content("mine", root+"/mine/v1") + "," + content("openai", root+"/openai/v1") + `}}`},
		reaches: []Upstream{at(openai, "https://two.example/v1"), {Name: "claude", Provider: "anthropic", URL: "https://c.example"}, {Name: "mine", Provider: "openai", URL: gateway}},
	},
	{
		name: "the user's content is kept, order included", tool: "opencode", env: []string{"OPENAI_API_KEY=b", openCodeNames.content() + `={"permission":{"z":"ask","a":"allow"}, // mine
			"provider":{"openai":{"models":{"m":{}}}},}`},
		set: map[string]string{openCodeNames.content(): `{"permission":{"z":"ask","a":"allow"},"provider":{"openai":{"models":{"m":{}},"options":{"baseURL":"` + root + `/openai/v1"}}}}`}, reaches: []Upstream{openai},
	},
	{
		name: "kinds without a profile", tool: "opencode", env: []string{"OPENAI_API_KEY=b"},
		files: map[string]string{"/home/ann/.config/opencode/opencode.json": `{"provider":{"b":{"npm":"@ai-sdk/amazon-bedrock","options":{"baseURL":"https://x"}},"f":{"options":{"baseURL":"{file:x}"}},"empty":{}}}`},
		set:   map[string]string{openCodeNames.content(): `{"provider":{` + content("openai", root+"/openai/v1") + `}}`}, reaches: []Upstream{openai},
	},
	{name: "broken content", tool: "opencode", env: []string{"OPENAI_API_KEY=b", openCodeNames.content() + "=["}, why: openCodeNames.content()},
}

var otherRows = []row{
	{name: "OpenAI", tool: "qwen", env: []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=" + gateway}, set: map[string]string{"OPENAI_BASE_URL": root + "/openai/v1"}, reaches: []Upstream{at(openai, gateway)}},
	{name: "Anthropic by flag", tool: "qwen", argv: []string{"qwen", "--auth-type", "anthropic"}, env: []string{"OPENAI_API_KEY=k"}, set: map[string]string{"ANTHROPIC_BASE_URL": root + "/anthropic"}, reaches: []Upstream{anthropic}},
	{name: "Gemini by settings", tool: "qwen", files: map[string]string{"/home/ann/.qwen/settings.json": `{"security":{"auth":{"selectedType":"gemini"}}}`}, set: map[string]string{geminiBase: root + "/gemini"}, reaches: []Upstream{google}},
	{
		name: "address by flag", tool: "qwen", argv: []string{"qwen", "--auth-type=openai", "--openai-base-url", gateway},
		args: []string{"qwen", "--auth-type=openai", "--openai-base-url", root + "/openai/v1"}, set: map[string]string{"OPENAI_BASE_URL": root + "/openai/v1"}, reaches: []Upstream{at(openai, gateway)},
	},
	{name: "DashScope", tool: "qwen", env: []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=https://dashscope.aliyuncs.com/compatible-mode/v1"}, why: "by its address"},
	{name: "its own login", tool: "qwen", argv: []string{"qwen", "--auth-type", "qwen-oauth"}, why: "qwen-oauth"},
	{name: "nothing", tool: "qwen", why: "not logged in"},
	{name: "providers in settings", tool: "qwen", env: []string{"OPENAI_API_KEY=k"}, files: map[string]string{"/home/ann/.qwen/settings.json": `{"modelProviders":{"openai":[{}]}}`}, why: "modelProviders"},

	{name: "GitHub", tool: "copilot", why: "GitHub login"},
	{name: "own provider", tool: "copilot", env: []string{"COPILOT_PROVIDER_BASE_URL=" + gateway}, set: map[string]string{"COPILOT_PROVIDER_BASE_URL": root + "/openai/v1"}, reaches: []Upstream{at(openai, gateway)}},
	{name: "own Anthropic", tool: "copilot", env: []string{"COPILOT_PROVIDER_BASE_URL=" + gateway, "COPILOT_PROVIDER_TYPE=anthropic"}, set: map[string]string{"COPILOT_PROVIDER_BASE_URL": root + "/anthropic"}, reaches: []Upstream{at(anthropic, gateway)}},
	{name: "Azure", tool: "copilot", env: []string{"COPILOT_PROVIDER_BASE_URL=" + gateway, "COPILOT_PROVIDER_TYPE=azure"}, why: "azure"},

	{name: "always", tool: "cline", why: "cline auth"},

	{name: "OpenAI", tool: "goose", env: []string{"GOOSE_PROVIDER=openai", "OPENAI_HOST=https://x.example/"}, set: map[string]string{"OPENAI_HOST": root + "/openai"}, reaches: []Upstream{at(openai, "https://x.example/v1")}},
	{name: "Anthropic by config", tool: "goose", files: map[string]string{"/home/ann/.config/goose/config.yaml": "GOOSE_PROVIDER: \"anthropic\" # mine\n"}, set: map[string]string{"ANTHROPIC_HOST": root + "/anthropic"}, reaches: []Upstream{anthropic}},
	{name: "another", tool: "goose", env: []string{"GOOSE_PROVIDER=databricks"}, why: "databricks"},

	{name: "plain", tool: "aider", set: map[string]string{"OPENAI_API_BASE": root + "/openai/v1", "ANTHROPIC_BASE_URL": root + "/anthropic"}, reaches: []Upstream{openai, anthropic}},
	{
		name: "address in its file", tool: "aider", files: map[string]string{"/home/ann/.aider.conf.yml": "model: x\nopenai-api-base: " + gateway + "\n"},
		set: map[string]string{"AIDER_OPENAI_API_BASE": root + "/openai/v1", "ANTHROPIC_BASE_URL": root + "/anthropic"}, reaches: []Upstream{at(openai, gateway), anthropic},
	},
	{name: "address by flag", tool: "aider", argv: []string{"aider", "--openai-api-base=" + gateway}, why: "--openai-api-base"},

	{
		name: "plain", tool: "generic", argv: []string{"python", "my_agent.py"},
		set:     map[string]string{"OPENAI_BASE_URL": root + "/openai/v1", "OPENAI_API_BASE": root + "/openai/v1", "ANTHROPIC_BASE_URL": root + "/anthropic", geminiBase: root + "/gemini"},
		reaches: []Upstream{openai, anthropic, google},
	},
	{
		name: "two addresses of OpenAI", tool: "generic", argv: []string{"python", "my_agent.py"}, env: []string{"OPENAI_BASE_URL=https://a.example/v1", "OPENAI_API_BASE=https://b.example/v1"},
		set:     map[string]string{"OPENAI_BASE_URL": root + "/openai/v1", "OPENAI_API_BASE": root + "/openai-2/v1", "ANTHROPIC_BASE_URL": root + "/anthropic", geminiBase: root + "/gemini"},
		reaches: []Upstream{at(openai, "https://a.example/v1"), {Name: "openai-2", Provider: "openai", URL: "https://b.example/v1"}, anthropic, google},
	},
}

// A tool that is given an HTTP proxy must still find ours.
var commonRows = []row{
	{
		name: "HTTP proxy", tool: "copilot", env: []string{"COPILOT_PROVIDER_BASE_URL=" + gateway, "https_proxy=http://p:3128"},
		set: map[string]string{"COPILOT_PROVIDER_BASE_URL": root + "/openai/v1", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}, reaches: []Upstream{at(openai, gateway)},
	},
	{
		name: "HTTP proxy, some hosts without", tool: "copilot", env: []string{"COPILOT_PROVIDER_BASE_URL=" + gateway, "HTTP_PROXY=http://p:3128", "NO_PROXY=a.example, b.example"},
		set: map[string]string{"COPILOT_PROVIDER_BASE_URL": root + "/openai/v1", "NO_PROXY": "a.example,b.example,127.0.0.1", "no_proxy": "a.example,b.example,127.0.0.1"}, reaches: []Upstream{at(openai, gateway)},
	},
	{
		name: "HTTP proxy, loopback is without", tool: "copilot", env: []string{"COPILOT_PROVIDER_BASE_URL=" + gateway, "HTTP_PROXY=http://p:3128", "NO_PROXY=127.0.0.1", "no_proxy=*"},
		set: map[string]string{"COPILOT_PROVIDER_BASE_URL": root + "/openai/v1"}, reaches: []Upstream{at(openai, gateway)},
	},
}
