package container

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/listen"
)

// HealthTimeout is the time in which a daemon has to answer by default: a probe of Kubernetes gives up after a second by
// itself unless its timeoutSeconds says more.
const HealthTimeout = 3 * time.Second

// HealthOptions name the daemon and what is asked of it.
type HealthOptions struct {
	// URL is the daemon's address, "http://127.0.0.1:4620"; "" is the one that the configuration has serve listen on.
	URL string
	// Live asks whether it is there (/healthz), and not whether it takes requests (/readyz).
	Live bool
	// Timeout is the time in which the daemon has to answer; 0 is HealthTimeout.
	Timeout time.Duration
}

// Health asks a daemon whether it takes requests. Nothing but the question is sent, so that its certificate is not checked. The error
// says why there is no answer, or which.
func Health(ctx context.Context, c *core.Core, o HealthOptions) error {
	addr, secure, err := where(c, o.URL)
	if err != nil {
		return err
	}
	path := "/readyz"
	if o.Live {
		path = "/healthz"
	}
	if o.Timeout == 0 {
		o.Timeout = HealthTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	err = listen.Asking("tcp", addr, secure, path)(ctx)
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the name that stands for the address
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", o.Timeout)
	}
	if err != nil {
		return fmt.Errorf("the daemon at %s: %w; is plimsoll serve running there? --url names another address", addr, plainly(err))
	}
	return nil
}

// plainly returns the error of a connection in the words of a person, without the system calls on the way.
func plainly(err error) error {
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Errorf("the name %s is not known here", name.Name)
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return errors.New("nothing listens there")
	}
	if call, ok := errors.AsType[*os.SyscallError](err); ok {
		return call.Err
	}
	if connection, ok := errors.AsType[*net.OpError](err); ok {
		return connection.Err
	}
	return err
}

// where returns the address of a URL, or of the daemon of the configuration, and whether it speaks TLS.
func where(c *core.Core, from string) (addr string, secure bool, err error) {
	if from == "" {
		settings, err := c.Config.For("")
		if err != nil {
			return "", false, err
		}
		_, port, err := net.SplitHostPort(settings.Serve.Listen)
		if err == nil && port == "0" {
			return "", false, errors.New("[serve] listen has port 0, so that only the daemon knows its port; name its address with --url")
		}
		return settings.Serve.Listen, settings.Serve.TLSCert != "", err
	}
	u, err := url.Parse(from)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", false, errors.New("--url is no address of a daemon; write it as in http://127.0.0.1:4620")
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port), u.Scheme == "https", nil
}
