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
	// Terminal means that the tool's standard input and output are a terminal, on which it can ask the user whether a
	// folder is to be trusted.
	Terminal bool
	// Home is the user's home; "" means that of Environ.
	Home string
	// Root is the proxy's address with the run's token, without a slash at its end:
	// http://127.0.0.1:4711/TOKEN.
	Root string
	// Folder is the absolute path of a folder for private files that last as long as the run; "" if there is none. Settings that
	// hold the token are given to a tool in a file there: everybody may read a command line.
	Folder string
	// PeerRoot is the proxy's address without a secret in it, for a tool that takes it on the command line, which everybody
	// may read; "" if the system does not tell the proxy which user a connection is from.
	PeerRoot string
	// Upstreams are configured addresses by provider ("openai", "anthropic", "gemini"),
	// used if the tool has none of its own. A missing one means the official address.
	Upstreams map[string]string
	// AWS means that requests to Bedrock can be signed anew, because credentials are configured.
	AWS bool
	// Secure returns the proxy's address with TLS, like Root, and the certificate in PEM by which it is trusted. It is called only if some
	// library sends nothing without TLS. Nil means that there is no such address.
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
	// SignRegion is the AWS region for which requests must be signed anew; "" if they need not be.
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
	// Project reports whether the reason is a setting in a file of the project, which the user should be told at once.
	Project bool
	// Argv is the command line, with flags inserted if the tool needs them.
	Argv []string
	// Files must be written, with mode 0600, before the start and removed after the end. They may hold the token.
	Files []File
	// Env are the changes of the environment, each name once. Values may hold the token.
	Env []Variable
	// Upstreams are the upstreams that the proxy has to reach for this run.
	Upstreams []Upstream
	// Models are the limits of models in the user's own settings of the tool.
	Models []ModelLimit
	// Compacts reports whether the tool makes room in its history by itself.
	Compacts bool
	// Notes are sentences for the user about what bypasses the proxy.
	Notes []string
}

// A ModelLimit is the limit of one model behind an upstream in a tool's own settings, in tokens; 0 is unset.
type ModelLimit struct {
	Upstream, Model string
	Context, Output int
}

// maxModelLimits bounds how many models a tool's settings may describe.
const maxModelLimits = 256

// Environ returns a copy of environ with the changes of Env.
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

// Plan returns how to start the command so that its model requests go through the proxy. The error is about an invalid Setup; a reason
// against a proxy is in Setting.Why.
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
	w.redirectAWS()
	w.redirectAzure()
	w.reachLoopback()
	w.out.Compacts = a.Compacts
	return w.out, nil
}
