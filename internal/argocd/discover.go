package argocd

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// DiscoverOptions name the places in which the address and the credential of a server are searched.
type DiscoverOptions struct {
	// Getenv reads the environment; nil means [os.Getenv].
	Getenv func(string) string
	// Home is the user's home folder; "" means the one that the system names.
	Home string
	// Context is a context of the argocd CLI's config file; "" means its current one.
	Context string
	// Server is the address of a server.
	Server string
}

// serverVariables returns the environment variables for the address; the first that is set is used. Those of the argocd
// CLI come before those of other MCP servers.
func serverVariables() []string {
	return []string{"ARGOCD_SERVER", "ARGOCD_API_URL", "ARGOCD_URL", "ARGOCD_BASE_URL"}
}

// ErrNoServer is wrapped by the error of [Discover] if nothing names a server.
var ErrNoServer = errors.New("no Argo CD server is named")

// Discover returns the server and credential that tools for Argo CD are configured with. It reads files
// and connects to no server. For the address, the first of these is used:
//
//	o.Server
//	o.Context                        of the config file
//	--server in ARGOCD_OPTS
//	ARGOCD_SERVER, ARGOCD_API_URL, ARGOCD_URL, ARGOCD_BASE_URL
//	the current context of the config file
//
// and for the token
//
//	the user of o.Context
//	--auth-token in ARGOCD_OPTS
//	ARGOCD_AUTH_TOKEN, ARGOCD_AUTH_TOKEN_FILE, ARGOCD_API_TOKEN, ARGOCD_TOKEN, ARGOCD_TOKEN_FILE
//	the user whom the config file has for that server
//
// A token, certificates and options of the config file are used with their own server only.
// Of ARGOCD_OPTS it knows --server, --auth-token, --insecure, --plaintext, --server-crt,
// --client-crt, --client-crt-key, --header (-H), --grpc-web-root-path, --config,
// --argocd-context and --http-retry-max. ARGOCD_VERIFY_SSL=false is --insecure.
//
// The config file is --config, or "config" in ARGOCD_CONFIG_DIR, ~/.argocd,
// XDG_CONFIG_HOME/argocd or ~/.config/argocd.
//
// The warnings are for the user: which of several values is used, what was ignored, what is not
// safe. Warnings and errors contain no credential. A value that cannot be read is an error
// that names its variable, or its file and line.
func Discover(o DiscoverOptions) (Options, []string, error) {
	d := discovery{o: o}
	if d.o.Getenv == nil {
		d.o.Getenv = os.Getenv
	}
	if err := d.discover(); err != nil {
		return Options{}, d.warnings, err
	}
	return d.found, d.warnings, nil
}

type discovery struct {
	o        DiscoverOptions
	flags    flags
	file     *configFile
	found    Options
	warnings []string
}

func (d *discovery) trimmedEnv(name string) string { return strings.TrimSpace(d.o.Getenv(name)) }

func (d *discovery) addWarning(format string, values ...any) {
	d.warnings = append(d.warnings, fmt.Sprintf(format, values...))
}

// discover finds the server, its options and the token, in this order, and sets them in d.found. It warns of what it ignores, and if the
// token can be read on the network.
func (d *discovery) discover() error {
	var err error
	if d.flags, err = parseFlags(d.o.Getenv("ARGOCD_OPTS")); err != nil {
		return fmt.Errorf("ARGOCD_OPTS: %w", err)
	}
	for _, name := range d.flags.ignored {
		d.addWarning("ARGOCD_OPTS: --%s has no meaning here and is ignored", name)
	}
	if d.o.Context == "" {
		d.o.Context = d.flags.context
	}
	if err := d.openConfig(); err != nil {
		return err
	}
	chosen, err := d.chooseServer()
	if err != nil {
		return err
	}
	entry, user, err := d.entryOf(chosen)
	if err != nil {
		return err
	}
	if entry != nil {
		if err := d.useEntry(entry); err != nil {
			return err
		}
	}
	if err := d.useFlags(); err != nil {
		return err
	}
	if err := d.setAddress(chosen, entry); err != nil {
		return err
	}
	if err := d.chooseToken(user); err != nil {
		return err
	}
	d.warnUnsafe()
	return nil
}

// openConfig reads the argocd CLI's config file into d.file. A missing file is only an error if --config in ARGOCD_OPTS names it, or if a
// context was asked for.
func (d *discovery) openConfig() error {
	path := d.flags.config
	must := path != ""
	if path == "" {
		path = d.configPath()
	}
	if path == "" {
		if d.o.Context != "" {
			return fmt.Errorf("the context %q cannot be looked up: this user has no home directory; set ARGOCD_CONFIG_DIR", d.o.Context)
		}
		return nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) && !must {
		if d.o.Context != "" {
			return fmt.Errorf("the context %q cannot be looked up: there is no file %s; log in with argocd login, or set ARGOCD_CONFIG_DIR", d.o.Context, path)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("the argocd CLI's config file cannot be read: %w", err)
	}
	d.warnOpen(path, info)
	data, err := readSmall(path, maxConfig)
	if err != nil {
		return fmt.Errorf("the argocd CLI's config file cannot be read: %w", err)
	}
	d.file, err = parseConfig(path, data)
	return err
}

// warnOpen warns about a file with secrets that other users may read.
func (d *discovery) warnOpen(path string, info os.FileInfo) {
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		d.addWarning("%s may be read by others (mode %04o): chmod 600 %s", path, info.Mode().Perm(), path)
	}
}

// configPath returns the path of the argocd CLI's config file (util/localconfig, DefaultConfigDir); "" if the home folder is not known.
func (d *discovery) configPath() string {
	if dir := d.trimmedEnv("ARGOCD_CONFIG_DIR"); dir != "" {
		return filepath.Join(dir, "config")
	}
	home := d.o.Home
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return ""
		}
	}
	old := filepath.Join(home, ".argocd", "config")
	if _, err := os.Stat(old); err == nil {
		return old
	}
	if xdg := d.trimmedEnv("XDG_CONFIG_HOME"); xdg != "" {
		return filepath.Join(xdg, "argocd", "config")
	}
	return filepath.Join(home, ".config", "argocd", "config")
}

// choice is an address with the place where it was found.
type choice struct {
	source, value string
	context       *configContext // the context that has the address; nil if it is from elsewhere
}

// chooseServer returns the address to use: the given one, or that of the given context, --server, a variable, or the current context, in
// this order. It warns of others that are not used; without any it returns ErrNoServer.
func (d *discovery) chooseServer() (choice, error) {
	var all []choice
	if d.o.Server != "" {
		all = append(all, choice{source: "the address that was given", value: d.o.Server})
	}
	var named choice
	if d.file != nil && (d.o.Context != "" || d.file.current != "") {
		context, err := d.file.contextNamed(cmp.Or(d.o.Context, d.file.current))
		switch {
		case err != nil && (d.o.Context != "" || !d.namedOutsideConfig()):
			return choice{}, err
		case err != nil:
			d.addWarning("%v; it is not needed, as the server is named elsewhere", err)
		default:
			named = choice{source: fmt.Sprintf("the context %q in %s", context.name, d.file.path), value: context.server, context: context}
		}
	}
	if d.o.Context != "" {
		all = append(all, named)
	}
	if d.flags.server != "" {
		all = append(all, choice{source: "--server in ARGOCD_OPTS", value: d.flags.server})
	}
	for _, name := range serverVariables() {
		if value := d.trimmedEnv(name); value != "" {
			all = append(all, choice{source: name, value: value})
		}
	}
	if d.o.Context == "" && named.value != "" {
		all = append(all, named)
	}
	if len(all) == 0 {
		return choice{}, fmt.Errorf("%w: give its URL, set ARGOCD_SERVER, or log in with argocd login", ErrNoServer)
	}
	for _, other := range all[1:] {
		if !sameServer(other.value, all[0].value) && (other.context == nil || d.o.Context != "") {
			d.addWarning("%s (%s) is used as the server, and %s (%s) is not", all[0].source, safeText(all[0].value, 200), other.source, safeText(other.value, 200))
		}
	}
	return all[0], nil
}

// namedOutsideConfig reports whether a server is named outside of the config file.
func (d *discovery) namedOutsideConfig() bool {
	if d.o.Server != "" || d.flags.server != "" {
		return true
	}
	for _, name := range serverVariables() {
		if d.trimmedEnv(name) != "" {
			return true
		}
	}
	return false
}

// entryOf returns the entries of the config file for the chosen server, and for its user; nil if there are none.
func (d *discovery) entryOf(chosen choice) (*configServer, *configUser, error) {
	if d.file == nil {
		return nil, nil, nil
	}
	context := chosen.context
	if context == nil {
		context = d.file.contextOf(chosen.value, cmp.Or(d.o.Context, d.file.current))
	}
	if context == nil {
		return nil, nil, nil
	}
	return d.file.entriesOf(context)
}

// useEntry copies the options of a server from the config file to d.found. It is an error if the entry has no API server ("core"), or
// certificates that are not base64.
func (d *discovery) useEntry(s *configServer) error {
	if s.core {
		return fmt.Errorf("%s:%d: the server %q has \"core: true\": then there is no API server to ask; choose another context, or give the URL of one", d.file.path, s.line, s.server)
	}
	d.found.Insecure = s.insecure
	for _, data := range []struct {
		to   *[]byte
		from string
		name string
	}{
		{&d.found.CAData, s.ca, "certificate-authority-data"},
		{&d.found.CertData, s.cert, "client-certificate-data"},
		{&d.found.KeyData, s.key, "client-certificate-key-data"},
	} {
		if data.from == "" {
			continue
		}
		decoded, err := base64.StdEncoding.DecodeString(data.from)
		if err != nil {
			return fmt.Errorf("%s:%d: %s of the server %q is not base64; log in again with argocd login", d.file.path, s.line, data.name, s.server)
		}
		*data.to = decoded
	}
	return nil
}

// useFlags copies the options from ARGOCD_OPTS and ARGOCD_VERIFY_SSL to d.found. It is an error if the latter is not a boolean; --insecure
// wins over it.
func (d *discovery) useFlags() error {
	f := d.flags
	d.found.CAFile, d.found.CertFile, d.found.KeyFile = f.ca, f.cert, f.key
	d.found.Header, d.found.Retries = f.header, f.retries
	if f.cert != "" || f.key != "" {
		d.found.CertData, d.found.KeyData = nil, nil
	}
	if f.insecure != nil {
		d.found.Insecure = *f.insecure
	}
	if text := d.trimmedEnv("ARGOCD_VERIFY_SSL"); text != "" {
		verify, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil {
			return fmt.Errorf("ARGOCD_VERIFY_SSL is %q; write true or false", safeText(text, 60))
		}
		switch {
		case f.insecure == nil:
			d.found.Insecure = !verify
		case *f.insecure == verify:
			d.addWarning("--insecure in ARGOCD_OPTS is used, and ARGOCD_VERIFY_SSL=%s is not", safeText(text, 60))
		}
	}
	return nil
}

// setAddress sets URL and Name of d.found from the chosen address; entry is the server's entry in the config file, nil if there is none.
// Name is that of the context or, without one, the host. It warns if an address with https:// is to be plain text.
func (d *discovery) setAddress(chosen choice, entry *configServer) error {
	text := strings.TrimSpace(chosen.value)
	plain := entry != nil && entry.plain
	if d.flags.plain != nil {
		plain = *d.flags.plain
	}
	scheme := "https://"
	if plain {
		scheme = "http://"
	}
	switch {
	case !strings.Contains(text, "://"):
		text = scheme + text
	case plain && strings.HasPrefix(strings.ToLower(text), "https://"):
		d.addWarning("%s says https://, which wins over plaintext", chosen.source)
	}
	u, err := parseBase(text)
	if err != nil {
		return fmt.Errorf("%s: %w", chosen.source, err)
	}
	root := d.flags.root
	if root == "" && entry != nil {
		root = entry.root
	}
	if root = strings.Trim(root, "/"); root != "" && strings.Trim(u.Path, "/") == "" {
		u.Path, u.RawPath = "/"+root, ""
	}
	d.found.URL = strings.TrimSuffix(u.String(), "/")
	d.found.Name = u.Host
	if chosen.context != nil {
		d.found.Name = chosen.context.name
	}
	return nil
}

// warnUnsafe warns if the token can be read on the network.
func (d *discovery) warnUnsafe() {
	u, err := url.Parse(d.found.URL)
	if err != nil {
		return // parseBase has read it
	}
	switch {
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		d.addWarning("%s is plain text: everybody on the way can read the token", d.found.URL)
	case u.Scheme == "https" && d.found.Insecure:
		d.addWarning("the certificate of %s is not verified: anybody on the way can pose as it and read the token; a CA file (--server-crt) is the safe way", d.found.URL)
	}
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
