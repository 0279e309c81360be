package toolbox

import (
	"errors"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	mcpclient "github.com/plimsoll/plimsoll/internal/tools/mcp/client"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// Server describes one MCP server. Exactly one of Command, URL, Peer and Gateway is set.
type Server struct {
	// Name identifies the server; "" means the name of the Gateway or program, or the host of the URL, else
	// "remote" for a URL and "server" for a Peer.
	Name string
	// Command is a program and its arguments, which speaks MCP on standard streams. It is
	// started when the toolbox is made, and again after it has ended.
	Command []string
	// Env is the environment of Command, as NAME=VALUE; nil means that of this process, with the
	// credentials in it. Dir is the directory that it starts in; "" means that of this process.
	Env []string
	Dir string
	// URL is an endpoint of streamable HTTP, and Header is sent with every request to it.
	URL    string
	Header http.Header
	// Peer returns a connection to a server in this process, such as builtin.Server.Dial does.
	Peer func() transport.Peer
	// Gateway is a gateway that exists already, with its own policy. Its maker closes it, after
	// the toolbox.
	Gateway *gateway.Server
	// Settings are the policy of the gateway that is made for the other three. The zero value
	// works.
	Settings gateway.Settings
}

// displayName returns the name of the server.
func (s *Server) displayName() string {
	switch {
	case s.Name != "":
		return s.Name
	case s.Gateway != nil:
		return s.Gateway.Name()
	case len(s.Command) > 0:
		return filepath.Base(s.Command[0])
	case s.URL != "":
		if u, err := url.Parse(s.URL); err == nil && u.Host != "" { // without what may be a secret in it
			return u.Host
		}
		return "remote"
	}
	return "server"
}

// check returns an error unless the server is given in exactly one way. spool says that Options.Spool is set, which a Gateway needs.
func (s *Server) check(spool bool) error {
	given := 0
	for _, is := range []bool{len(s.Command) > 0, s.URL != "", s.Peer != nil, s.Gateway != nil} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return errors.New("give one of Command, URL, Peer and Gateway")
	case s.Gateway != nil && !spool:
		return errors.New("a Gateway keeps large results in a spool; give Options.Spool the same one, so that they can be read")
	case len(s.Command) > 0 && s.Command[0] == "":
		return errors.New("the first word of Command is empty; begin it with the program")
	}
	return nil
}

// newSession returns a session for a server, with a gateway before it unless the server has one. It does not connect yet.
func (b *Toolbox) newSession(s *Server) (*serverSession, error) {
	l := newServerSession(b, s.displayName())
	if s.Gateway != nil {
		l.gateway, l.queries = s.Gateway, true
		return l, nil
	}
	o := b.gatewayOptions(l.name, s.Settings)
	switch {
	case s.URL != "":
		way := mcpclient.HTTPOptions{Name: l.name, URL: s.URL, Header: s.Header.Clone(), Journal: b.o.Journal}
		trial, err := mcpclient.HTTP(way)
		if err != nil {
			return nil, err
		}
		if err := trial.Close(); err != nil {
			return nil, err
		}
		o.Remote = true
		o.Dial = func(gateway.Dialing) transport.Peer {
			remote, err := mcpclient.HTTP(way)
			if err != nil { // it was tried above
				panic(err)
			}
			return remote
		}
	case s.Peer != nil:
		o.Dial = func(gateway.Dialing) transport.Peer { return s.Peer() }
	default:
		command := exec.Command(s.Command[0], s.Command[1:]...)
		command.Env, command.Dir = s.Env, s.Dir
		if command.Err != nil {
			return nil, command.Err
		}
		o.Dial = func(d gateway.Dialing) transport.Peer {
			return mcpclient.Stdio(mcpclient.StdioOptions{Name: l.name, Launch: mcpclient.Exec(command), Shared: d.Shared, Journal: b.o.Journal})
		}
	}
	l.useOwnGateway(o)
	return l, nil
}

// gatewayOptions returns the options of the gateway before a server. A Cap or MaxMedia of 0 gets the toolbox's own default.
func (b *Toolbox) gatewayOptions(name string, settings gateway.Settings) gateway.ServerOptions {
	if settings.Cap == 0 {
		settings.Cap = b.o.MaxResult
	}
	if settings.MaxMedia == 0 {
		// Nothing of it is shown to models, and what is delivered is held for each call.
		settings.MaxMedia = limit.MiB
	}
	return gateway.ServerOptions{Name: name, Spool: b.spool, Journal: b.o.Journal, Settings: settings, Query: b.o.Query}
}

// addFunctions adds a server in this process whose tools are Options.Functions.
func (b *Toolbox) addFunctions() error {
	server, err := builtin.New(builtin.Options{
		Name: functionsName, Version: "1", Tools: b.o.Functions, Journal: b.o.Journal, MaxCalls: maxFunctionCalls,
	})
	if err != nil {
		return err
	}
	b.cleanup = append(b.cleanup, func() error {
		closed := make(chan error, 1)
		go func() { closed <- server.Close() }()
		t := time.NewTimer(closeWait)
		defer t.Stop()
		select {
		case err := <-closed:
			return err
		case <-t.C: // a function does not return; nobody waits for it
			return nil
		}
	})
	l := newServerSession(b, functionsName)
	o := b.gatewayOptions(l.name, gateway.Settings{})
	o.Builtin = true
	o.Dial = func(gateway.Dialing) transport.Peer { return server.Dial() }
	l.useOwnGateway(o)
	l.functions = true
	b.sessions = append(b.sessions, l)
	return nil
}
