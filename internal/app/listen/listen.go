// Package listen takes requests over HTTP for the commands of Plimsoll, each in the same way: the address
// and the token of [serve], TLS, the file that tells others the address, health and metrics, and an
// orderly end.
//
//	err := listen.Until(ctx, listen.Options{
//		Serve: settings.Serve, Door: door, Handler: handler,
//		Ready: func(url string) { fmt.Println("at", url) }, ReadyFile: file, End: agents.Close,
//	})
//
// [Transport] is the other direction: which certificate authorities count on the way to an upstream.
// Functions keep no state. But for the order in which it says that it is ready, the package is tested through daemon.Run, the scripts in
// cmd/plimsoll/testdata and e2e.
package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/systemd"
	"github.com/plimsoll/plimsoll/internal/window/proxy"
)

// Drain is the time that requests under way get when a daemon ends. An answer of a model takes longer, but whoever stops a daemon waits for it.
const Drain = 10 * time.Second

// Options name the handler, the listener, and the callbacks for its start and end.
type Options struct {
	Serve config.ServeSettings // Listen is the address, "127.0.0.1:0" for any port
	// Door makes the listener, behind its checks of who may come.
	Door    *proxy.Proxy
	Handler http.Handler
	// Taking is closed when requests are taken; nil is not.
	Taking chan struct{}
	// Ready is called with the URL then. What others look up of this listener is recorded here.
	Ready func(url string)
	// ReadyFile takes the URL, with Path behind it, when Ready has returned; "" writes none.
	ReadyFile, Path string
	// Service is notified when Ready has returned and ReadyFile is there, whether the listener answers, and when the end begins. The
	// socket that it was passed is used in place of Serve.Listen, and by the same rules. Nil is without a service manager.
	Service *systemd.Service
	// Warn is called when Service cannot be notified.
	Warn func(text string)
	// End ends the streams that clients hold open, once ctx has ended: they would keep the listener from ending.
	End func() error
}

// Until serves until ctx ends; then requests under way have [Drain]. It is an error when the listener ends before.
func Until(ctx context.Context, o Options) error {
	secure, err := tlsConfig(o.Serve, o.Warn)
	if err != nil {
		return err
	}
	passed, err := o.Service.Listener()
	if err != nil {
		return err
	}
	if passed != nil {
		o.Serve.Listen = passed.Addr().String()
	}
	server, err := o.Door.Listen(proxy.ListenOptions{Addr: o.Serve.Listen, Listener: passed, TLS: secure, Handler: o.Handler})
	if err != nil {
		return withNextStep(o.Serve, err)
	}
	if o.Taking != nil {
		close(o.Taking)
	}
	// Whoever waited for the file or the service manager finds all that Ready recorded.
	o.Ready(server.URL())
	remove, err := writeReady(o.ReadyFile, server.URL()+o.Path)
	if err != nil {
		return errors.Join(err, server.Shutdown(ctx))
	}
	defer remove()
	o.tell(o.Service.Ready("serving on " + server.URL()))
	watched, unwatch := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { o.Service.Watch(watched, answers(server.Addr(), secure != nil), o.Warn) })
	defer watching.Wait()
	defer unwatch()
	select {
	case <-ctx.Done():
	case <-server.Done():
		return fmt.Errorf("the listener of %s ended: %w", o.Serve.Listen, server.Err())
	}
	o.tell(o.Service.Stopping(fmt.Sprintf("ending, requests under way have %s", Drain)))
	err = o.End()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), Drain)
	defer cancel()
	if e := server.Shutdown(last); e != nil && !errors.Is(e, context.DeadlineExceeded) {
		err = errors.Join(err, e)
	}
	return err
}

// tell warns of what the service manager was not told: serving goes on without it.
func (o *Options) tell(err error) {
	if err != nil {
		o.Warn(err.Error())
	}
}

// TakeService takes what the service manager gave this process, nil when none started it. A command that serves calls it before
// anything else: it removes the variables that no child may have, and sets those that credentials take the place of.
func TakeService() (*systemd.Service, error) { return systemd.Take() }

// Door makes the checks for what is no model gateway.
func Door(s config.Settings, token string, o proxy.Options) (*proxy.Proxy, error) {
	o.Upstreams, o.Token, o.Hosts, o.Origins, o.AnyPeer = []proxy.Upstream{}, token, s.Serve.Hosts, s.Serve.Origins, s.Serve.AnyUser
	return proxy.New(o)
}

// withNextStep adds the next step to what the listener says.
func withNextStep(s config.ServeSettings, err error) error {
	var busy *net.OpError
	if errors.As(err, &busy) {
		return fmt.Errorf("%w; choose another with --listen, or end the program that has it", err)
	}
	var missing []string
	if s.Token == "" {
		missing = append(missing, "token")
	}
	if s.TLSCert == "" {
		missing = append(missing, "tls_cert and tls_key")
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w; set %s in [serve], or listen on 127.0.0.1", err, strings.Join(missing, ", "))
	}
	return err
}

// Token returns the token that clients must send, from the variable that the configuration names; "" if it names none. An empty variable, or
// a token that is too short, is an error.
func Token(s config.ServeSettings, getenv func(string) string) (string, error) {
	name := s.Token
	if name == "" {
		return "", nil
	}
	token := strings.TrimSpace(getenv(name))
	if token == "" {
		if name != strings.ToUpper(name) { // not how variables are called: it may be the token itself
			name = "of another name (or is it the token itself? it does not belong into the file)"
		}
		return "", fmt.Errorf("[serve] token names the variable %s, which is empty; set it to at least 16 characters", name)
	}
	if len(token) < 16 {
		return "", fmt.Errorf("[serve] token: what is in the variable %s is shorter than 16 characters and could be guessed; make one with: openssl rand -hex 32", name)
	}
	return token, nil
}

// writeReady writes an address into a file for other programs; "" writes none. remove removes the file again. If the name is there and is not
// a regular file (a device, a pipe), that is an error: the file is replaced as a whole.
func writeReady(file, address string) (remove func(), err error) {
	if file == "" {
		return func() {}, nil
	}
	folder, name, err := config.OpenFolder(file)
	if err == nil {
		if fi, lookErr := folder.Stat(name); lookErr == nil && !fi.Mode().IsRegular() {
			err = errors.New("is there, and is no regular file")
		} else {
			// After a power cut nobody listens at this address.
			err = atomicfile.Replacement{Root: folder, Name: name, Perm: 0o600, Kept: atomicfile.Volatile}.Write([]byte(address + "\n"))
		}
		if err != nil {
			_ = folder.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("--ready-file %s: %w; name a file in a directory that is yours to write to", file, err)
	}
	return func() {
		_ = folder.Remove(name)
		_ = folder.Close()
	}, nil
}

// answers asks the listener at addr for its health.
func answers(addr net.Addr, secure bool) func(context.Context) error {
	return Asking(addr.Network(), addr.String(), secure, "/healthz")
}

// Asking returns a function that asks the daemon at addr for path (/healthz or /readyz) over a new connection, as any client would. Its
// error says why there was no answer, or that the status was not 200.
func Asking(network, addr string, secure bool, path string) func(context.Context) error {
	url := "http://plimsoll" + path
	if secure {
		url = "https://plimsoll" + path
	}
	var d net.Dialer
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.DialContext(ctx, network, addr)
		},
		// It is our own certificate, for a name that this address need not have, and nothing secret is said.
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true, // a connection that is there already says nothing of whether new ones are taken
	}}
	return func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<10))
		_ = answer.Body.Close()
		if err == nil && answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s answers %s", url, answer.Status)
		}
		return err
	}
}
