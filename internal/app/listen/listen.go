package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/systemd"
	"github.com/plimsoll/plimsoll/internal/window/proxy"
)

// Drain is the time that requests under way get when a daemon ends. An answer of a model takes
// longer, but whoever stops a daemon waits for it.
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

// Until serves until ctx ends; then requests under way have [Drain]. It is an error when the
// listener ends before.
func Until(ctx context.Context, o Options) error {
	secure, err := certificate(o.Serve, o.Warn)
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

// Token reads the token that clients must have from the variable that the configuration names; "" is
// none.
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
