package argocd

import (
	"cmp"
	"encoding/base64"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/shellwords"
)

const twoContexts = `contexts:
- name: prod
  server: argocd.example.com
  user: prod-user
- name: lab
  server: localhost:8080
  user: lab-user
- name: core
  server: kubernetes
  user: kubernetes
- name: out
  server: argocd.example.com
  user: nobody
current-context: prod
prompts-enabled: false
servers:
- grpc-web: true
  grpc-web-root-path: /cd
  server: argocd.example.com
  certificate-authority-data: CADATA
- server: localhost:8080
  plain-text: true
  insecure: true
- server: kubernetes
  core: true
users:
- name: prod-user
  auth-token: SECRET-PROD
  refresh-token: SECRET-REFRESH
- auth-token: SECRET-LAB
  name: lab-user
`

// home makes a home with a config file in dir.
func home(t *testing.T, dir, config string) string {
	t.Helper()
	home := t.TempDir()
	if config == "" {
		return home
	}
	if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, dir, "config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestDiscoverFindsWhatOthersUse(t *testing.T) {
	t.Parallel()
	ca := base64.StdEncoding.EncodeToString([]byte("PEM"))
	config := strings.ReplaceAll(twoContexts, "CADATA", ca)
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte("SECRET-FILE\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		config string
		o      DiscoverOptions
		env    []string
		url    string
		token  string
		warn   []string // a part of each warning
		check  func(o Options) bool
	}{
		"the CLI's variables": {env: []string{"ARGOCD_SERVER", "a.example.com:8443", "ARGOCD_AUTH_TOKEN", "SECRET-ENV"}, url: "https://a.example.com:8443", token: "SECRET-ENV"},
		"the original's":      {env: []string{"ARGOCD_API_URL", "https://a.example.com/", "ARGOCD_TOKEN", "SECRET-ENV"}, url: "https://a.example.com", token: "SECRET-ENV"},
		"argocd-mcp's":        {env: []string{"ARGOCD_BASE_URL", "https://a.example.com", "ARGOCD_API_TOKEN", "SECRET-ENV"}, url: "https://a.example.com", token: "SECRET-ENV"},
		"a token file":        {env: []string{"ARGOCD_SERVER", "a.example.com", "ARGOCD_AUTH_TOKEN_FILE", tokenFile}, url: "https://a.example.com", token: "SECRET-FILE"},
		"no token":            {env: []string{"ARGOCD_SERVER", "a.example.com"}, url: "https://a.example.com", warn: []string{"there is no token"}},
		"two of each": {
			env: []string{"ARGOCD_SERVER", "a.example.com", "ARGOCD_BASE_URL", "https://b.example.com", "ARGOCD_AUTH_TOKEN", "SECRET-ENV", "ARGOCD_API_TOKEN", "SECRET-2"},
			url: "https://a.example.com", token: "SECRET-ENV",
			warn: []string{"ARGOCD_SERVER (a.example.com) is used as the server, and ARGOCD_BASE_URL", "ARGOCD_AUTH_TOKEN is used as the credential, and ARGOCD_API_TOKEN is not"},
		},
		"the same twice": {
			env: []string{"ARGOCD_SERVER", "a.example.com:443", "ARGOCD_BASE_URL", "https://a.example.com/", "ARGOCD_AUTH_TOKEN", "SECRET-ENV", "ARGOCD_API_TOKEN", "Bearer SECRET-ENV"},
			url: "https://a.example.com:443", token: "SECRET-ENV",
		},
		"not verified": {
			env: []string{"ARGOCD_API_URL", "https://a.example.com", "ARGOCD_TOKEN", "SECRET-ENV", "ARGOCD_VERIFY_SSL", "False"}, url: "https://a.example.com", token: "SECRET-ENV",
			warn: []string{"is not verified"}, check: func(o Options) bool { return o.Insecure },
		},
		"plain text": {
			env: []string{"ARGOCD_SERVER", "a.example.com", "ARGOCD_AUTH_TOKEN", "SECRET-ENV", "ARGOCD_OPTS", "--plaintext --grpc-web --loglevel debug"}, url: "http://a.example.com", token: "SECRET-ENV",
			warn: []string{"--grpc-web has no meaning", "--loglevel has no meaning", "everybody on the way"},
		},
		"options": {
			env: []string{"ARGOCD_OPTS", `--server b.example.com --auth-token=SECRET-OPT --insecure=false --server-crt '/a b/ca' --client-crt /c --client-crt-key /k --header "X-A: 1,X-B: 2" -H 'X-C: 3' --grpc-web-root-path cd --http-retry-max 5`, "ARGOCD_VERIFY_SSL", "true"},
			url: "https://b.example.com/cd", token: "SECRET-OPT",
			check: func(o Options) bool {
				return !o.Insecure && o.CAFile == "/a b/ca" && o.CertFile == "/c" && o.KeyFile == "/k" && o.Header.Get("X-A") == "1" && o.Header.Get("X-B") == "2" && o.Header.Get("X-C") == "3" && o.Retries == 5
			},
		},
		"the current context": {
			config: ".config/argocd", url: "https://argocd.example.com/cd", token: "SECRET-PROD",
			check: func(o Options) bool { return string(o.CAData) == "PEM" && o.Name == "prod" && !o.Insecure },
		},
		"the old place": {config: ".argocd", url: "https://argocd.example.com/cd", token: "SECRET-PROD"},
		"a context": {
			config: ".config/argocd", o: DiscoverOptions{Context: "lab"}, env: []string{"ARGOCD_SERVER", "a.example.com", "ARGOCD_AUTH_TOKEN", "SECRET-ENV"},
			url: "http://localhost:8080", token: "SECRET-LAB", warn: []string{"ARGOCD_SERVER (a.example.com) is not", "ARGOCD_AUTH_TOKEN is not"},
		},
		"a context in the options": {config: ".argocd", env: []string{"ARGOCD_OPTS", "--argocd-context lab"}, url: "http://localhost:8080", token: "SECRET-LAB"},
		"variables before the file": {
			config: ".argocd", env: []string{"ARGOCD_SERVER", "a.example.com", "ARGOCD_AUTH_TOKEN", "SECRET-ENV"}, url: "https://a.example.com", token: "SECRET-ENV",
		},
		"no token for another server": {
			config: ".argocd", env: []string{"ARGOCD_SERVER", "evil.example.com"}, url: "https://evil.example.com", warn: []string{"there is no token"},
			check: func(o Options) bool { return o.CAData == nil },
		},
		"an address that the file knows": {config: ".argocd", o: DiscoverOptions{Server: "https://argocd.example.com:443"}, url: "https://argocd.example.com:443/cd", token: "SECRET-PROD"},
		"an address and a context":       {config: ".argocd", o: DiscoverOptions{Server: "c.example.com", Context: "lab"}, url: "https://c.example.com", warn: []string{`the context "lab"`, "there is no token"}},
		"an address and its context":     {config: ".argocd", o: DiscoverOptions{Server: "argocd.example.com", Context: "out"}, url: "https://argocd.example.com/cd", warn: []string{"there is no token"}},
		"logged out":                     {config: ".argocd", o: DiscoverOptions{Context: "out"}, env: []string{"ARGOCD_AUTH_TOKEN", "SECRET-ENV"}, url: "https://argocd.example.com/cd", token: "SECRET-ENV"},
	} {
		test.o.Getenv = env(test.env...)
		test.o.Home = home(t, cmp.Or(test.config, "none"), map[bool]string{true: config}[test.config != ""])
		o, warnings, err := Discover(test.o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		token := ""
		if o.Token != nil {
			if token, err = o.Token(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if o.URL != test.url || token != test.token || test.check != nil && !test.check(o) {
			t.Errorf("%s: %s with %q (%v)", name, o.URL, token, o.Header)
		}
		all := strings.Join(warnings, "\n")
		if len(warnings) != len(test.warn) || strings.Contains(all, "SECRET") {
			t.Errorf("%s: warnings %q, want %q", name, warnings, test.warn)
		}
		for _, part := range test.warn {
			if !strings.Contains(all, part) {
				t.Errorf("%s: no warning %q in %q", name, part, warnings)
			}
		}
		if _, err := New(Options{URL: o.URL, Name: o.Name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDiscoverNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config string
		o      DiscoverOptions
		env    []string
		want   string
	}{
		"nothing":            {want: "ARGOCD_SERVER"},
		"a bad URL":          {env: []string{"ARGOCD_BASE_URL", "ftp://x"}, want: "ARGOCD_BASE_URL"},
		"a bad boolean":      {env: []string{"ARGOCD_SERVER", "x", "ARGOCD_VERIFY_SSL", "perhaps"}, want: "ARGOCD_VERIFY_SSL"},
		"a bad token":        {env: []string{"ARGOCD_SERVER", "x", "ARGOCD_AUTH_TOKEN", "SECRET x"}, want: "ARGOCD_AUTH_TOKEN"},
		"no token file":      {env: []string{"ARGOCD_SERVER", "x", "ARGOCD_TOKEN_FILE", "/nosuch/file"}, want: "ARGOCD_TOKEN_FILE"},
		"bad quotes":         {env: []string{"ARGOCD_OPTS", `--header "a`}, want: "ARGOCD_OPTS"},
		"a word":             {env: []string{"ARGOCD_OPTS", `yes --insecure`}, want: `"yes" is no flag`},
		"a bad header":       {env: []string{"ARGOCD_OPTS", `--header "SECRET"`}, want: "--header"},
		"no value":           {env: []string{"ARGOCD_OPTS", `--server --insecure`}, want: "--server has no value"},
		"core":               {env: []string{"ARGOCD_OPTS", `--core`}, want: "--core"},
		"retries":            {env: []string{"ARGOCD_OPTS", `--http-retry-max x`}, want: "--http-retry-max"},
		"a flag's boolean":   {env: []string{"ARGOCD_OPTS", `--insecure=x`}, want: "--insecure"},
		"no config file":     {env: []string{"ARGOCD_OPTS", "--config /nosuch/file"}, want: "/nosuch/file"},
		"a context, no file": {o: DiscoverOptions{Context: "x"}, want: "there is no file"},
		"no such context":    {config: twoContexts, o: DiscoverOptions{Context: "x"}, want: "there are prod, lab, core"},
		"core in the file":   {config: twoContexts, o: DiscoverOptions{Context: "core"}, want: ":24: the server"},
		"no base64":          {config: strings.ReplaceAll(twoContexts, "CADATA", "SECRET!"), want: ":17: certificate-authority-data"},
		"no YAML":            {config: "a: [SECRET\nb: {", want: "not YAML"},
		"a list":             {config: "- a", want: "config:1: this must be a mapping"},
		"a text for a list":  {config: "contexts:\n  SECRET", want: "config:2: this must be a list"},
		"a text in a list":   {config: "contexts:\n- SECRET", want: "config:2: this must be a mapping"},
		"a list for a text":  {config: "contexts:\n- name: [SECRET]", want: "config:2: name must be one value"},
		"a text for true":    {config: "servers:\n- server: x\n  insecure: SECRET", want: "config:3: insecure must be true or false"},
		"a key twice":        {config: "users: []\nusers: []", want: "users"},
		"no server of it":    {config: "current-context: a\ncontexts:\n- name: a\n  server: b", want: "config:3: the context \"a\""},
		"no server in it":    {config: "current-context: a\ncontexts:\n- name: a", want: "has no server"},
		"half a certificate": {config: "current-context: a\ncontexts:\n- {name: a, server: b}\nservers:\n- {server: b, client-certificate-data: SECRET}", want: "config:5: client-certificate-data"},
		"too many":           {config: "users:\n" + strings.Repeat("- {}\n", maxEntries+1), want: "at most 1000"},
		"too large":          {config: strings.Repeat("#", maxConfig+1), want: "larger than"},
	} {
		test.o.Getenv = env(test.env...)
		test.o.Home = home(t, ".config/argocd", test.config)
		_, _, err := Discover(test.o)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	if _, _, err := Discover(DiscoverOptions{Getenv: env(), Home: t.TempDir()}); !errors.Is(err, ErrNoServer) {
		t.Error(err)
	}
}

func TestDiscoverWarnsOfOpenFiles(t *testing.T) {
	t.Parallel()
	dir := home(t, ".argocd", twoContexts[:strings.Index(twoContexts, "current")]+"current-context: lab\n"+strings.ReplaceAll(twoContexts[strings.Index(twoContexts, "servers"):], "CADATA", "AAAA"))
	path := filepath.Join(dir, ".argocd", "config")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	_, warnings, err := Discover(DiscoverOptions{Getenv: env(), Home: dir})
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "chmod 600 "+path) {
		t.Errorf("%q, %v", warnings, err)
	}
}

func TestWordsAreSplitAsInAShell(t *testing.T) {
	t.Parallel()
	got, err := shellwords.Split(`a  'b c'd "e\"f\g" \h\ i '' "" ` + "\t\n")
	if want := []string{"a", "b cd", `e"f\g`, "h i", "", ""}; err != nil || strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%q, %v", got, err)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(twoContexts))
	f.Add([]byte("a: &a [*a]\ncontexts: *a"))
	f.Add([]byte("contexts: &c\n- &x {name: a, server: b}\n- *x\n"))
	f.Add([]byte("current-context: 1\n---\nx"))
	f.Add([]byte("? [a]\n: b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			return // the reader of YAML is slow, and a file has some KiB
		}
		c, err := parseConfig("/home/config", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "/home/config:") {
				t.Fatalf("%v names no place", err)
			}
			return
		}
		if context, err := c.contextNamed(c.current); err == nil {
			if server, _, err := c.entriesOf(context); err == nil && server.server != context.server {
				t.Fatalf("%q is not the server of %q", server.server, context.name)
			}
		}
		c.contextOf("argocd.example.com", "")
	})
}

func FuzzFlags(f *testing.F) {
	f.Add(`--server a --header "A: b,C: d" --insecure --grpc-web=true -H 'x: y'`)
	f.Add(`--`)
	f.Add(`"`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseFlags(text)
		if err != nil {
			return
		}
		r := http.Request{Header: got.header}
		for name, values := range r.Header {
			if name == "" || strings.ContainsAny(name+strings.Join(values, ""), "\r\n\x00") {
				t.Fatalf("%q is no header", name)
			}
		}
	})
}
