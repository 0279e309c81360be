package wrap

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/internal/sorting"
)

// Startable is a server from a client's file, ready to be started or reached.
type Startable struct {
	Server // Action is [Left] if the server cannot be used, and Why is the reason
	// Command starts the server in Dir ("" is the working directory), with Env ("NAME=VALUE") added to the environment; or URL is its
	// address, to which Header is sent.
	Command []string
	Env     []string
	Dir     string
	URL     string
	Header  http.Header
}

// Environment has the values for a file's placeholders.
type Environment struct {
	Getenv func(string) string
	// Project is the folder whose servers are read from a file with servers for several, and the value of ${workspaceFolder}.
	Project string
	Home    string

	shell bool // the client's values are words of a shell
}

// Read returns the servers of a client's file, in the file's order, with all placeholders replaced. A wrapped server is returned as it was
// before, since Plimsoll starts it. Errors and reasons name keys and variables, never values.
func Read(path string, data []byte, from Environment) ([]Startable, error) {
	d, err := parse(path, data, false)
	if err != nil {
		return nil, err
	}
	root, err := d.format.read(data)
	if err != nil {
		return nil, &Error{Path: path, Text: err.Error()}
	}
	var out []Startable
	for _, e := range d.entries {
		place := e.place()
		if place[0] == "projects" && len(place) > 1 && filepath.Clean(place[1]) != filepath.Clean(from.Project) {
			continue
		}
		s := Startable{Server: e.server()}
		from.shell = s.Client == crush
		fields, ok := objectAt(root, place)
		if !ok {
			s.Why = whyForm
		} else if err := s.setFields(fields, e.isWrapped(), from); err != nil {
			s.Why = err.Error()
		}
		if s.Why != "" {
			s = Startable{Server: s.Server}
			s.Action = Left
		}
		out = append(out, s)
	}
	return out, nil
}

// objectAt returns the object that is reached from v by the keys in turn, v itself without keys; false if one of them has no object.
func objectAt(v map[string]any, keys []string) (map[string]any, bool) {
	for _, k := range keys {
		next, ok := v[k].(map[string]any)
		if !ok {
			return nil, false
		}
		v = next
	}
	return v, true
}

// setFields sets the fields from v, the entry of a server in a client's file, with placeholders replaced. The error is the reason why the
// server cannot be started. wrapped says that v is an entry that Plimsoll has wrapped; its original is taken then.
func (s *Startable) setFields(v map[string]any, wrapped bool, from Environment) error {
	if v["disabled"] == true || v["enabled"] == false {
		return errors.New("it is switched off in the file")
	}
	for _, key := range []string{"requestOptions", "env_keys", "api_key_env"} { // Continue, Goose, Vibe
		if set, ok := v[key]; ok && set != nil && set != "" && !equalValues(set, []any{}) && !wrapped {
			return fmt.Errorf("only its client can fill in its %s", key)
		}
	}
	f := fields{v: v, from: from}
	for _, p := range slices.Concat(f.pairs("env"), f.pairs("environment"), f.pairs("envs")) { // opencode, Goose
		s.Env = append(s.Env, p.name+"="+p.value)
	}
	s.Dir = f.text("cwd")
	if argv, isList := v["command"].([]any); isList {
		s.Command = f.texts("command", argv)
	} else if command := f.text("command") + f.text("cmd"); command != "" {
		args, _ := v["args"].([]any)
		s.Command = append([]string{command}, f.texts("args", args)...)
	}
	for _, key := range []string{"url", "httpUrl", "serverUrl", "uri"} {
		if s.URL == "" {
			s.URL = f.text(key)
		}
	}
	headers := slices.Concat(f.pairs("headers"), f.pairs("http_headers"))
	for _, p := range f.pairs("env_http_headers") { // Codex: a variable for each
		value, err := from.variable(p.value)
		f.fail(err)
		headers = append(headers, header{p.name, value})
	}
	if variable := f.text("bearer_token_env_var"); variable != "" {
		value, err := from.variable(variable)
		f.fail(err)
		headers = append(headers, header{"Authorization", "Bearer " + value})
	}
	if f.err != nil {
		return f.err
	}
	if wrapped {
		return s.unwrap()
	}
	if len(s.Command) > 0 && s.URL != "" {
		return errors.New("it has both a command and an address")
	}
	if len(s.Command) == 0 && s.URL == "" {
		return errors.New(whyNo)
	}
	if s.URL != "" && v["type"] == "sse" {
		return errors.New(whySSE)
	}
	return s.setHeaders(headers)
}

// unwrap replaces Plimsoll's command by the command, or by the address and headers, of the server that was wrapped.
func (s *Startable) unwrap() error {
	if len(s.Command) == 0 {
		return errors.New(whyNo)
	}
	args := s.Command[1:]
	from, ok := wrappedFrom(args)
	if !ok {
		return errors.New(whyForm)
	}
	if from > 0 {
		s.Command, s.URL = args[from:], ""
		if s.Command[0] == "" {
			return errors.New(whyNo)
		}
		return nil
	}
	env := map[string]string{}
	for _, kv := range s.Env {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	r, ok := parseRemote(args, env)
	if !ok || len(r.fromEnv) > 0 || r.bearer != "" {
		return errors.New("it was wrapped with variables of its client: start it by `plimsoll mcp` as that does")
	}
	s.Command, s.Env, s.URL = nil, nil, r.url
	return s.setHeaders(r.headers)
}

// setHeaders sets the headers. More than maxHeaders of them, or one without a name or with a line break, is an error.
func (s *Startable) setHeaders(all []header) error {
	if len(all) > maxHeaders {
		return fmt.Errorf("it has %d headers, and %d is the most", len(all), maxHeaders)
	}
	for _, h := range all {
		if h.name == "" || strings.ContainsAny(h.name+h.value, "\r\n\x00") {
			return fmt.Errorf("its header %q is none: it has a line break or no name", h.name)
		}
		if s.Header == nil {
			s.Header = http.Header{}
		}
		s.Header.Set(h.name, h.value)
	}
	return nil
}

// fields reads the values of an entry and keeps the first error.
type fields struct {
	v    map[string]any
	from Environment
	err  error
}

func (f *fields) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// text returns a string with its placeholders replaced; "" if it is missing. If the value is not a string, it returns "" and sets f.err.
func (f *fields) text(key string) string {
	v, there := f.v[key]
	if !there || v == nil {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		f.fail(fmt.Errorf("its %s is no text", key))
		return ""
	}
	return f.fillIn(key, s)
}

// fillIn returns text, the value of key, with its placeholders replaced. A failure is recorded in f.err.
func (f *fields) fillIn(key, text string) string {
	out, err := f.from.replacePlaceholders(text)
	if err != nil {
		f.fail(fmt.Errorf("its %s: %w", key, err))
	}
	return out
}

// texts returns the strings in values, with their placeholders replaced. If one is not a string, it returns nil and sets f.err.
func (f *fields) texts(key string, values []any) (out []string) {
	for _, v := range values {
		s, ok := v.(string)
		if !ok {
			f.fail(fmt.Errorf("a value of its %s is no text", key))
			return nil
		}
		out = append(out, f.fillIn(key, s))
	}
	return out
}

// pairs returns the members of an object, sorted by name; nil if it is missing. Placeholders in strings are replaced; numbers and booleans
// become text, as clients do it. Any other value sets f.err and is left out.
func (f *fields) pairs(key string) (out []header) {
	v, there := f.v[key]
	if !there || v == nil {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		f.fail(fmt.Errorf("its %s is no object", key))
		return nil
	}
	for name, v := range m {
		switch v := v.(type) {
		case string:
			out = append(out, header{name, f.fillIn(key+"."+name, v)})
		case bool, float64, int64, json.Number:
			out = append(out, header{name, fmt.Sprint(v)})
		default:
			f.fail(fmt.Errorf("its %s.%s is no text", key, name))
		}
	}
	sorting.By(out, func(a, b header) int { return strings.Compare(a.name, b.name) })
	return out
}

// placeholder matches ${NAME}, ${NAME:-DEFAULT} (Claude Code, Gemini CLI), ${env:NAME} and ${workspaceFolder} (VS Code, Cursor), and
// {env:NAME} (opencode).
var placeholder = lazy.Regexp(`\$\{([^}]*)\}|\{env:([^}]*)\}`)

// shellName matches $NAME (Crush).
var shellName = lazy.Regexp(`\$([A-Za-z_][A-Za-z0-9_]*)`)

// replacePlaceholders returns text with its placeholders replaced, such as ${HOME} and {env:HOME}. It is an error if one is not known, or a
// variable is not set and has no default. For Crush, it is an error if a shell would run something in text.
func (e Environment) replacePlaceholders(text string) (string, error) {
	if e.shell {
		if strings.ContainsAny(text, "`\\") || strings.Contains(text, "$(") {
			return "", errors.New("only its client can fill in what a shell would run")
		}
		text = shellName().ReplaceAllString(text, "$${$1}")
	}
	var failed error
	out := placeholder().ReplaceAllStringFunc(text, func(found string) string {
		inner, dollar := strings.CutPrefix(found, "${")
		inner = strings.TrimSuffix(inner, "}")
		if !dollar {
			return e.Getenv(strings.TrimPrefix(inner, "{env:"))
		}
		switch {
		case inner == "workspaceFolder":
			return e.Project
		case inner == "userHome":
			return e.Home
		case inner == "pathSeparator" || inner == "/":
			return string(filepath.Separator)
		case inner == "workspaceFolderBasename":
			return filepath.Base(e.Project)
		}
		name, isEnv := strings.CutPrefix(inner, "env:")
		name, fallback, hasFallback := strings.Cut(name, ":-")
		if !isEnv && strings.ContainsAny(name, ": ") {
			failed = fmt.Errorf("only its client can fill in ${%s}", name)
			return ""
		}
		value, err := e.variable(name)
		if err != nil && hasFallback {
			return fallback
		}
		if err != nil && failed == nil {
			failed = err
		}
		return value
	})
	return out, failed
}

// variable returns the value of a variable; an error if it is not set or empty.
func (e Environment) variable(name string) (string, error) {
	if v := e.Getenv(name); v != "" {
		return v, nil
	}
	return "", fmt.Errorf("the variable %s is not set", name)
}

// ReadFile is [Read] for a file, with this process's environment, working directory and home.
func ReadFile(path string) ([]Startable, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	project, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	home, _ := os.UserHomeDir()
	return Read(path, f.data, Environment{Getenv: os.Getenv, Project: project, Home: home})
}

// maxHeaders bounds the headers of a remote server.
const maxHeaders = 64

// FromEnvironment returns the address and headers of a wrapped remote server that its entry has put into the environment of `plimsoll mcp`:
// url is "" if the address is an argument, headers is nil if there are none. Errors name the variable, never its value.
func FromEnvironment(lookup func(name string) (value string, ok bool)) (url string, headers http.Header, err error) {
	url, _ = lookup(URLVariable)
	for i := 1; i <= maxHeaders; i++ {
		variable := fmt.Sprintf("%s%d", HeaderVariable, i)
		text, ok := lookup(variable)
		if !ok {
			break
		}
		name, value, ok := strings.Cut(text, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(text, "\r\n\x00") {
			return "", nil, fmt.Errorf("the variable %s is not of the form \"Name: value\" on one line: correct it in the client's configuration", variable)
		}
		if headers == nil {
			headers = http.Header{}
		}
		headers.Add(name, strings.TrimSpace(value))
	}
	return url, headers, nil
}
