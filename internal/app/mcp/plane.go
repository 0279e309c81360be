package mcp

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/delegate"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/listen"
	"github.com/plimsoll/plimsoll/internal/app/stores"
	"github.com/plimsoll/plimsoll/internal/argocd/toolset"
	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	mcpclient "github.com/plimsoll/plimsoll/internal/tools/mcp/client"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/internal/tools/sizes"
	"github.com/plimsoll/plimsoll/internal/tools/spool/query"
	"github.com/plimsoll/plimsoll/internal/tools/wrap"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// Plane holds the MCP gateways of a process and what they share.
type Plane struct {
	app      *core.Core
	Settings config.Settings
	Spool    *spool.Spool
	Journal  *journal.Journal
	ledger   *admission.Ledger // nil if runs are not coordinated
	// ledgerErr is the reason why there is no ledger.
	ledgerErr error
	Client    *http.Client
	key       []byte // of the digests that name clients
	Query     []string
	temp      string
	Hidden    []string // variables that servers do not get
	servers   []*gateway.Server
	closer    core.Closer
}

// PlaneOptions are the differences between a single gateway and the daemon.
type PlaneOptions struct {
	Observers []journal.Observer
	// Journal is an existing journal; nil makes a new one, with Observers.
	Journal *journal.Journal
}

// spoolFree returns the setting free_min in the form of [spool.Options]: 0 for auto, and -1 for none.
func spoolFree(freeMin limit.Bytes) limit.Bytes {
	switch freeMin {
	case config.Auto:
		return 0
	case 0:
		return -1
	}
	return freeMin
}

// Observers returns the observers that record the sizes of results, for `stats --mcp` and for the run that this process is in. closing
// writes what they have collected.
func Observers(app *core.Core) (observers []journal.Observer, closing func()) {
	var accounts []*sizes.Account
	if state, err := app.Dirs.EnsureState(); err != nil {
		app.Warn("sizes of tool results are not kept: " + err.Error())
	} else if account, err := sizes.Open(filepath.Join(state, sizesDir), sizes.Options{Warn: func(err error) { app.Warn(err.Error()) }}); err == nil {
		accounts = append(accounts, account)
	}
	if tally := openTally(app); tally != nil {
		accounts = append(accounts, tally)
	}
	for _, account := range accounts {
		observers = append(observers, account)
	}
	return observers, func() {
		for _, account := range accounts {
			if err := account.Close(); err != nil {
				app.Warn(err.Error()) // the client was served nevertheless
			}
		}
	}
}

// Open opens the tools plane. It starts no server. Without a directory for results, or without a ledger, it warns and goes on.
func Open(app *core.Core, s config.Settings, o PlaneOptions) (p *Plane, err error) {
	p = &Plane{app: app, Settings: s, Journal: o.Journal}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
			p = nil
		}
	}()
	if p.Journal == nil {
		observers, closing := Observers(app)
		p.closer.Do(closing)
		p.Journal = journal.New(journal.Options{Observers: append(observers, o.Observers...)})
	}
	if err := p.openResults(); err != nil {
		// A model's requests, and most results, need no disk.
		app.Warn(fmt.Sprintf("large results of tools are not kept, and only their beginnings given: %v; make room there, "+
			"or set PLIMSOLL_CACHE_DIR to a directory that is yours to write to, and start it again", err))
		p.temp, p.Spool = "", spool.Unusable(errors.New("there is no directory for it (what is wrong was said at the start)"))
		p.key = make([]byte, 32)
		_, _ = rand.Read(p.key) // never fails
	}
	if p.ledger, err = app.OpenLedger(func(w admission.Warning) { app.Warn(w.Text) }); err != nil {
		app.Warn("runs are not coordinated: " + err.Error())
		p.ledger, p.ledgerErr, err = nil, err, nil
	}
	self, err := os.Executable()
	if err != nil {
		return p, err
	}
	p.Query = []string{self, query.Argument}
	p.Client = &http.Client{}
	if trusting := listen.Transport(os.Getenv, app.Warn); trusting != nil {
		// Every session holds a stream to its server open, so that a bound on connections
		// would stop all calls at that many sessions. Sessions are bounded themselves.
		trusting.MaxConnsPerHost = 0
		p.Client.Transport = trusting
		p.closer.Do(trusting.CloseIdleConnections)
	} else {
		p.Client = nil
	}
	return p, nil
}

// openResults opens the spool in the cache directory, and reads the key of the digests.
func (p *Plane) openResults() error {
	cache, err := p.app.Dirs.EnsureCache()
	if err != nil {
		return err
	}
	results, err := spool.Open(spool.Options{
		Dir: filepath.Join(cache, stores.ResultsDir), MaxResult: p.Settings.MCP.MaxResult, FreeMin: spoolFree(p.Settings.FreeMin), Journal: p.Journal,
	})
	if err != nil {
		return err
	}
	if p.key, err = keyOf(filepath.Join(cache, "results.key")); err != nil {
		return errors.Join(err, results.Close())
	}
	p.temp, p.Spool = cache, results
	p.closer.Add(results.Close)
	return nil
}

// Close closes the servers, and then what they share, the last opened first.
func (p *Plane) Close() error {
	var all error
	for _, s := range p.servers {
		all = errors.Join(all, s.Close())
	}
	p.servers = nil
	return p.closer.Close(all)
}

// Gateway returns the gateway of one server. stderr gets what the server writes to its standard error; nil means the server's log in the
// state directory.
func (p *Plane) Gateway(s config.MCPServer, stderr *os.File) (*gateway.Server, error) {
	return p.gateway(s, nil, stderr)
}

// GatewayOfClient is [Plane.Gateway] for a server in a client's file.
func (p *Plane) GatewayOfClient(s ClientServer) (*gateway.Server, error) {
	return p.gateway(s.MCPServer, s.Header, nil)
}

// gateway returns the gateway of one server. own, unless nil, are the headers for a remote server in place of the configured ones.
func (p *Plane) gateway(s config.MCPServer, own http.Header, stderr *os.File) (*gateway.Server, error) {
	if s.A2A != "" {
		return p.delegate(s)
	}
	o := gateway.ServerOptions{
		Name: s.Name, Remote: s.URL != "", Spool: p.Spool, Journal: p.Journal, Settings: policyOf(s), Definitions: p.definitions(s.MCP.ToolsMax), Query: p.Query,
		TempDir: p.temp, MaxProcesses: s.MCP.MaxProcesses,
	}
	if s.URL != "" {
		header, err := headersOf(s, os.Getenv)
		if err != nil {
			return nil, err
		}
		if own != nil {
			header = own
		}
		trial, err := mcpclient.HTTP(mcpclient.HTTPOptions{Name: s.Name, URL: s.URL})
		if err != nil {
			return nil, err
		}
		p.closer.Add(trial.Close)
		o.Address = addressOf(s.URL)
		o.Dial = func(d gateway.Dialing) transport.Peer {
			h := header.Clone()
			for name, values := range d.Header { // of one client
				if h == nil {
					h = http.Header{}
				}
				if _, ours := h[name]; !ours {
					h[name] = values
				}
			}
			remote, err := mcpclient.HTTP(mcpclient.HTTPOptions{Name: s.Name, URL: s.URL, Header: h, Client: p.Client, Timeout: s.MCP.Timeout, Journal: p.Journal})
			if err != nil { // it was tried above
				panic(err)
			}
			return remote
		}
	} else {
		l := &launcher{app: p.app, server: s, process: p.Settings, journal: p.Journal, ledger: p.ledger, ledgerErr: p.ledgerErr, hidden: p.Hidden}
		log := ServerLog(p.app, s.Name)
		if log != nil {
			p.closer.Add(log.Close)
		}
		o.Dial = func(d gateway.Dialing) transport.Peer {
			so := mcpclient.StdioOptions{
				Name: s.Name, Launch: l.Launch, Shared: d.Shared, Timeout: s.MCP.Timeout, TempDir: p.temp, MaxFrame: int64(s.MCP.MaxResult), Journal: p.Journal,
			}
			switch {
			case stderr == nil && log != nil:
				so.Stderr = log
			case stderr != nil:
				so.Stderr = stderr
				if term.IsTerminal(int(stderr.Fd())) {
					so.Stderr = printable.NewWriter(stderr) // servers write what they are sent by others
				}
			}
			return mcpclient.Stdio(so)
		}
	}
	server := gateway.NewServer(o)
	p.servers = append(p.servers, server)
	return server, nil
}

// addressOf returns the host of a URL, with its port if one is written, and with :80 for http without one; "" if it is invalid.
func addressOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	if u.Scheme == "http" && u.Port() == "" {
		return u.Host + ":80"
	}
	return u.Host
}

// policyOf returns the settings of a server in the form for the gateway.
func policyOf(s config.MCPServer) gateway.Settings {
	out := gateway.Settings{
		Limits: limitsOf(s.MCP), Allow: s.MCP.Allow, Deny: s.MCP.Deny, ReadOnly: s.MCP.ReadOnly, MaxSearch: s.MCP.MaxSearch,
	}
	for name, m := range s.Tools {
		if out.Tools == nil {
			out.Tools = map[string]gateway.Limits{}
		}
		out.Tools[name] = limitsOf(m)
	}
	return out
}

func limitsOf(m config.MCPSettings) gateway.Limits {
	l := gateway.Limits{
		Cap: max(m.MaxOutput, 0), MaxItems: m.MaxItems, PageItems: m.PageItems, MaxMedia: m.MaxMedia, MaxResult: m.MaxResult, Early: m.Early,
		Timeout: m.Timeout,
	}
	l.MaxItems = cmp.Or(l.MaxItems, -1)
	return l
}

// headersOf returns the headers for a remote server, with values from the variables that are named, and those that mcp wrap has put into the
// environment, which win; nil for none. An empty variable is an error.
func headersOf(s config.MCPServer, getenv func(string) string) (http.Header, error) {
	h := http.Header{}
	if s.Token != "" {
		value := strings.TrimSpace(getenv(s.Token))
		if value == "" {
			return nil, fmt.Errorf("the token of %s: the variable %s is empty; set it", s.Name, s.Token)
		}
		h.Set("Authorization", "Bearer "+value)
	}
	for _, pair := range s.Headers {
		name, variable, _ := strings.Cut(pair, "=")
		value := getenv(variable)
		if value == "" {
			return nil, fmt.Errorf("header %s of MCP server %s: the variable %s is empty; set it", name, s.Name, variable)
		}
		h.Set(name, value)
	}
	// What `mcp wrap` has put into the server's entry of a client.
	_, wrapped, err := wrap.FromEnvironment(func(name string) (string, bool) {
		value := getenv(name)
		return value, value != ""
	})
	if err != nil {
		return nil, err
	}
	maps.Copy(h, wrapped)
	if len(h) == 0 {
		return nil, nil
	}
	return h, nil
}

// principal returns an id of whoever sends a request over HTTP, to whom results belong: a digest of the credential or, without one, the
// user of this machine. If other users may connect, that is not known to be this one. A user's own token for Argo CD is a credential too,
// because users may see different things there.
func (p *Plane) principal(r *http.Request) (string, error) {
	credential := []string{r.Header.Get("Authorization")}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		// For all instances, or with its name behind for one.
		if strings.HasPrefix(name, toolset.DefaultUserHeader) {
			credential = append(append(credential, name), r.Header[name]...)
		}
	}
	if len(credential) > 1 || credential[0] != "" {
		return p.digest("credential", strings.Join(credential, "\x00")), nil
	}
	if p.Settings.Serve.AnyUser {
		return p.digest("user", "any"), nil
	}
	return p.Local(), nil
}

// Local returns the principal of a client that this user has started.
func (p *Plane) Local() string { return p.digest("user", fmt.Sprint(os.Getuid())) }

// digest returns a keyed hash of a value and its kind, which tells nothing of the value.
func (p *Plane) digest(kind, value string) string {
	h := hmac.New(sha256.New, p.key)
	_, _ = fmt.Fprintf(h, "%s\x00%s", kind, value)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// keyWait bounds the wait for another process that is making the key, which takes milliseconds.
const keyWait = 10 * time.Second

// keyOf returns the key of this installation in a file, and makes it if there is none or it is damaged.
func keyOf(file string) ([]byte, error) {
	key, err := statefile.Read(file, 64)
	if err == nil && len(key) == 32 {
		return key, nil
	}
	fresh := make([]byte, 32)
	_, _ = rand.Read(fresh) // never fails
	// Of several that begin at once the first one's key counts.
	ctx, cancel := context.WithTimeout(context.Background(), keyWait)
	defer cancel()
	lock, err := filelock.Open(ctx, file+".lock")
	if err != nil {
		return nil, err
	}
	defer filelock.Release(lock)
	defer os.Remove(file + ".lock")
	if key, err := statefile.Read(file, 64); err == nil && len(key) == 32 {
		return key, nil
	}
	return fresh, atomicfile.Write(file, fresh, 0o600, atomicfile.Durable)
}

// resourceOf returns the URL of a remote server's endpoint; nil for any other server.
func resourceOf(s config.MCPServer) *url.URL {
	u, err := url.Parse(s.URL)
	if s.URL == "" || err != nil {
		return nil
	}
	return u
}

// delegate returns the gateway for an agent of [a2a]. Nothing is sent to the agent before a client connects.
func (p *Plane) delegate(s config.MCPServer) (*gateway.Server, error) {
	header, err := headersOf(s, os.Getenv)
	if err != nil {
		return nil, err
	}
	o := delegate.Options{Name: s.Name, URL: s.A2A, Header: header, TempDir: p.temp, Journal: p.Journal}
	o.Allow, o.Hosts = p.Settings.Serve.Allowed()
	if p.Client != nil {
		o.Transport = p.Client.Transport
	}
	other, err := delegate.New(o)
	if err != nil {
		return nil, err
	}
	p.closer.Add(other.Close)
	g := gateway.NewServer(gateway.ServerOptions{
		Name: s.Name, Dial: func(gateway.Dialing) transport.Peer { return other.Dial() }, Spool: p.Spool, Journal: p.Journal,
		Settings: policyOf(s), Query: p.Query, TempDir: p.temp, Builtin: true, Named: true,
	})
	p.servers = append(p.servers, g)
	return g, nil
}
