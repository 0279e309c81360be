package profile

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Setup is a command about to be started.
type Setup struct {
	// Argv is the command line as the user gave it, launchers included.
	Argv []string
	// Via are the launchers the command goes through (npx, node, env, …), as package config
	// finds them. When empty, Argv[0] is the tool itself.
	Via []string
	// Environ is the environment as NAME=VALUE.
	Environ []string
	// Dir is the working directory, absolute.
	Dir string
	// Terminal is true when the tool's standard input and output are a terminal, on which it can ask the user whether a
	// folder is to be trusted.
	Terminal bool
	// Home is the user's home; "" takes it from Environ.
	Home string
	// Root is the proxy's address with the run's token, without a slash at its end:
	// http://127.0.0.1:4711/TOKEN.
	Root string
	// Folder is the absolute path for private files that last as long as the run; "" when there is none. Settings that
	// hold the token are given to a tool in a file there: everybody may read a command line.
	Folder string
	// PeerRoot is the same without a secret in it, for a tool that takes its address on the command line, which everybody
	// may read; "" where the system does not tell the proxy whose a connection is.
	PeerRoot string
	// Upstreams are configured addresses by provider ("openai", "anthropic", "gemini"),
	// used where the tool has none of its own. Missing ones are the official addresses.
	Upstreams map[string]string
	// AWS is true when requests to Bedrock can be signed anew: credentials are configured.
	AWS bool
	// Secure is the proxy's address by TLS, as Root is, with the certificate in PEM by which it is trusted. It is called where some
	// library sends nothing without TLS, and what it needs is made then. Nil: there is none.
	Secure func() (root string, authority []byte, err error)
	// ReadFile reads a settings file; nil reads from disk, at most 1 MiB.
	ReadFile func(name string) ([]byte, error)
}

// Upstream is a provider that the proxy has to reach.
type Upstream struct {
	// Name is the path element under which the tool will ask for it.
	Name string
	// Provider is "openai", "anthropic", "gemini", "vertex", "azure" or "bedrock".
	Provider string
	// URL is the base as the provider's own libraries take it: OpenAI's ends in its
	// version, Anthropic's and Gemini's do not.
	URL string
	// SignRegion is set where the request must be signed anew for AWS: its region.
	SignRegion string
}

// Variable is one change of the environment.
type Variable struct {
	Name, Value string
	Unset       bool // remove it, Value is ""
}

// File is a private file.
type File struct {
	Path string
	Body []byte
}

// Setting describes how to start the command.
type Setting struct {
	// Why is the reason to start it without proxy, "" when there is none. All other fields
	// but Argv, Compacts and Notes are then empty.
	Why string
	// Project is true when the reason is what a file of the project says: the user should hear of it at once.
	Project bool
	// Argv is the command line, with flags put in where the tool needs them.
	Argv []string
	// Files are to be written, with mode 0600, before the start and removed after the end. They may hold the token.
	Files []File
	// Env are the changes of the environment, each name once. Values may hold the token.
	Env []Variable
	// Upstreams are the upstreams that the proxy has to reach for this run.
	Upstreams []Upstream
	// Models are the limits of models in the user's own settings of the tool.
	Models []ModelLimit
	// Compacts is true when the tool makes room by itself.
	Compacts bool
	// Notes are sentences for the user about what goes around the proxy.
	Notes []string
}

// A ModelLimit is the limit of one model behind an upstream in a tool's own settings, in tokens; 0 is unset.
type ModelLimit struct {
	Upstream, Model string
	Context, Output int
}

// maxModelLimits bounds how many models a tool's settings may describe.
const maxModelLimits = 256

// Environ applies the changes to environ and returns a new slice.
func (s Setting) Environ(environ []string) []string {
	out := slices.Clone(environ)
	for _, v := range s.Env {
		out = slices.DeleteFunc(out, func(kv string) bool {
			name, _, ok := strings.Cut(kv, "=")
			return ok && sameName(name, v.Name)
		})
		if !v.Unset {
			out = append(out, v.Name+"="+v.Value)
		}
	}
	return out
}

// Plan decides how the command is started so that its model requests go through the proxy.
// The error is about the Setup; what speaks against a proxy is in Setting.Why.
func (a *Agent) Plan(in Setup) (Setting, error) {
	if a.plan == nil {
		return Setting{}, errors.New("profile: the agent is empty; get one from Find")
	}
	if len(in.Argv) == 0 {
		return Setting{}, errors.New("profile: no command")
	}
	root, err := url.Parse(in.Root)
	if err != nil || root.Scheme == "" || root.Host == "" || strings.HasSuffix(in.Root, "/") {
		return Setting{}, errors.New("profile: Root must look like http://127.0.0.1:4711/TOKEN, without a slash at its end")
	}
	w := newPlanner(a, in, root.Hostname())
	a.plan(w)
	if w.out.Why == "" && len(w.out.Upstreams) == 0 {
		return Setting{}, fmt.Errorf("profile: that of %s planned nothing", a.Name)
	}
	if w.out.Why != "" {
		return Setting{Why: w.out.Why, Project: w.out.Project, Argv: slices.Clone(in.Argv), Compacts: a.Compacts, Notes: w.out.Notes}, nil
	}
	w.awsSDKs()
	w.azure()
	w.reachLoopback()
	w.out.Compacts = a.Compacts
	return w.out, nil
}
