package argocd

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	// maxConfig bounds the argocd CLI's config file, in bytes. An entry has some KiB.
	maxConfig = 1 << 20
	// maxEntries bounds each list in that file.
	maxEntries = 1000
)

// configFile is the argocd CLI's config file (util/localconfig/localconfig.go).
type configFile struct {
	path     string
	current  string
	line     int // the line of current
	contexts []configContext
	servers  []configServer
	users    []configUser
}

type configContext struct {
	name, server, user string
	line               int
}

type configServer struct {
	server, root          string
	insecure, plain, core bool
	ca, cert, key         string // base64
	line                  int
}

type configUser struct {
	name, token string
	line        int
}

// parseConfig reads the config file. Errors name the file and the line, and contain no value.
func parseConfig(path string, data []byte) (*configFile, error) {
	f := &configFile{path: path}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: not YAML: %s", path, withoutValues(err))
	}
	if doc.Kind == 0 || len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return f, nil // an empty file
	}
	top, err := f.membersOf(doc.Content[0])
	if err != nil {
		return nil, err
	}
	if n := top["current-context"]; n != nil {
		f.line = n.Line
	}
	err = f.readFields(top, map[string]any{"current-context": &f.current})
	if err != nil {
		return nil, err
	}
	err = f.forEachMember(top["contexts"], func(m map[string]*yaml.Node, line int) error {
		c := configContext{line: line}
		err := f.readFields(m, map[string]any{"name": &c.name, "server": &c.server, "user": &c.user})
		f.contexts = append(f.contexts, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = f.forEachMember(top["servers"], func(m map[string]*yaml.Node, line int) error {
		s := configServer{line: line}
		err := f.readFields(m, map[string]any{
			"server": &s.server, "grpc-web-root-path": &s.root, "insecure": &s.insecure, "plain-text": &s.plain, "core": &s.core,
			"certificate-authority-data": &s.ca, "client-certificate-data": &s.cert, "client-certificate-key-data": &s.key,
		})
		f.servers = append(f.servers, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = f.forEachMember(top["users"], func(m map[string]*yaml.Node, line int) error {
		u := configUser{line: line}
		err := f.readFields(m, map[string]any{"name": &u.name, "auth-token": &u.token})
		f.users = append(f.users, u)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// withoutValues returns an error of the YAML reader reduced to the line number, because the rest may contain a secret.
func withoutValues(err error) string {
	line := regexp.MustCompile(`line [0-9]+`).FindString(err.Error())
	if line == "" {
		return "it cannot be read"
	}
	return "it cannot be read at " + line
}

// errorAt returns an error with the file and the line of n.
func (f *configFile) errorAt(n *yaml.Node, format string, values ...any) error {
	return fmt.Errorf("%s:%d: %s", f.path, n.Line, fmt.Sprintf(format, values...))
}

// resolved returns the node that an alias refers to; any other node unchanged.
func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

// membersOf returns the members of a mapping; an error if n is not one or has a key twice.
func (f *configFile) membersOf(n *yaml.Node) (map[string]*yaml.Node, error) {
	n = resolved(n)
	if n.Kind != yaml.MappingNode {
		return nil, f.errorAt(n, "this must be a mapping (name: value)")
	}
	m := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if m[key] != nil {
			return nil, f.errorAt(n.Content[i], "%q is here twice", safeText(key, 60))
		}
		m[key] = resolved(n.Content[i+1])
	}
	return m, nil
}

// forEachMember calls do with each mapping in a list, and the line on which that begins; a missing list is empty. It stops at the first
// error of do. A list of more than maxEntries, or with anything else in it, is an error.
func (f *configFile) forEachMember(n *yaml.Node, do func(m map[string]*yaml.Node, line int) error) error {
	if n == nil || n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		return f.errorAt(n, "this must be a list")
	}
	if len(n.Content) > maxEntries {
		return f.errorAt(n, "there are %d entries; at most %d are read", len(n.Content), maxEntries)
	}
	for _, item := range n.Content {
		m, err := f.membersOf(item)
		if err != nil {
			return err
		}
		if err := do(m, item.Line); err != nil {
			return err
		}
	}
	return nil
}

// readFields reads strings and booleans of a mapping into the targets, by their names; missing ones leave theirs as it is. A value of
// another type is an error.
func (f *configFile) readFields(m map[string]*yaml.Node, to map[string]any) error {
	for name, target := range to {
		n := m[name]
		if n == nil || n.Tag == "!!null" {
			continue
		}
		if n.Kind != yaml.ScalarNode {
			return f.errorAt(n, "%s must be one value", name)
		}
		switch target := target.(type) {
		case *string:
			*target = strings.TrimSpace(n.Value)
		case *bool:
			if err := n.Decode(target); err != nil {
				return f.errorAt(n, "%s must be true or false", name)
			}
		}
	}
	return nil
}

// contextNamed returns the context of that name. It is an error if there is none, and lists the known ones, or if the context has no
// server.
func (f *configFile) contextNamed(name string) (*configContext, error) {
	known := make([]string, 0, len(f.contexts))
	for i := range f.contexts {
		if f.contexts[i].name == name {
			if f.contexts[i].server == "" {
				return nil, fmt.Errorf("%s:%d: the context %q has no server; log in again with argocd login", f.path, f.contexts[i].line, safeText(name, 200))
			}
			return &f.contexts[i], nil
		}
		known = append(known, f.contexts[i].name)
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("%s: there is no context %q, and no other; log in with argocd login", f.path, safeText(name, 200))
	}
	return nil, fmt.Errorf("%s: there is no context %q; there are %s", f.path, safeText(name, 200), safeText(strings.Join(known, ", "), maxMessage/2))
}

// contextOf returns the context for a server, preferably the one named preferred; nil if there is none.
func (f *configFile) contextOf(server, preferred string) *configContext {
	var found *configContext
	for i := range f.contexts {
		c := &f.contexts[i]
		if c.server == "" || !sameServer(c.server, server) {
			continue
		}
		if c.name == preferred {
			return c
		}
		if found == nil {
			found = c
		}
	}
	return found
}

// entriesOf returns the entries of the server and the user of a context. The user is nil if it has logged out; a missing server is an
// error, and so is a client certificate without its key.
func (f *configFile) entriesOf(c *configContext) (*configServer, *configUser, error) {
	var server *configServer
	for i := range f.servers {
		if f.servers[i].server == c.server {
			server = &f.servers[i]
			break
		}
	}
	if server == nil {
		return nil, nil, fmt.Errorf("%s:%d: the context %q has the server %q, which is not among the servers; log in again with argocd login", f.path, c.line, safeText(c.name, 200), safeText(c.server, 200))
	}
	if (server.cert == "") != (server.key == "") {
		return nil, nil, fmt.Errorf("%s:%d: client-certificate-data and client-certificate-key-data must be there together", f.path, server.line)
	}
	for i := range f.users {
		if f.users[i].name == c.user {
			return server, &f.users[i], nil
		}
	}
	return server, nil, nil
}

// sameServer reports whether two addresses, with or without scheme and port, mean the same server. If one has no path, paths are not
// compared.
func sameServer(a, b string) bool {
	ua, errA := parseBase(a)
	ub, errB := parseBase(b)
	if errA != nil || errB != nil {
		return a == b
	}
	return strings.EqualFold(ua.Hostname(), ub.Hostname()) && portOf(a, ua) == portOf(b, ub) &&
		(ua.Path == ub.Path || ua.Path == "" || ub.Path == "")
}

// portOf returns the port of an address: 443 unless it has another port or the scheme http.
func portOf(text string, u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	if strings.HasPrefix(strings.ToLower(strings.TrimSpace(text)), "http://") {
		return "80"
	}
	return "443"
}
