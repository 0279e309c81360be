// Package container does for an image without a shell and without curl what it cannot do itself: it asks the daemon beside it for its
// health, and puts a copy of this program into a volume, from where another image runs it.
//
//	err := container.Health(ctx, c, container.HealthOptions{})
//	path, err := container.CopyTo("/plimsoll-bin")
//
// Both are for the probes and the init containers of a pod, and for a container's HEALTHCHECK; docs/kubernetes.md shows them at
// work. They keep no state and may be called from any goroutine.
package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/listen"
	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/config"
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
	addr, secure, err := daemonAddress(c, o.URL)
	if err != nil {
		return err
	}
	path := "/readyz"
	if o.Live {
		path = "/healthz"
	}
	o.Timeout = cmp.Or(o.Timeout, HealthTimeout)
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
		return fmt.Errorf("the daemon at %s: %w; is plimsoll serve running there? --url names another address", addr, plainError(err))
	}
	return nil
}

// plainError returns the error of a connection in words for a person, without the names of system calls.
func plainError(err error) error {
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

// daemonAddress returns the address in the URL from, and whether it speaks TLS; if from is "", those of the daemon that the configuration
// describes.
func daemonAddress(c *core.Core, from string) (addr string, secure bool, err error) {
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

// CopyTo puts a copy of this program into a directory, under its name there, plimsoll, for everybody to read and run. It appears whole
// or not at all. The result is its path.
func CopyTo(dir string) (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program's own file: %w", err)
	}
	program, err := os.Open(own)
	if err != nil {
		return "", fmt.Errorf("read this program's own file: %w", err)
	}
	defer program.Close()
	root, name, err := config.OpenFolder(filepath.Join(dir, "plimsoll"))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("copy plimsoll to %s: there is no such directory; mount the volume there", dir)
		}
		return "", fmt.Errorf("copy plimsoll to %s: %w; name a directory that this user may write to", dir, err)
	}
	defer root.Close()
	if filepath.Ext(own) == ".exe" {
		name += ".exe"
	}
	// The volume of a pod is gone with the machine.
	to := atomicfile.Replacement{Root: root, Name: name, Perm: 0o755, Kept: atomicfile.Volatile}
	if err := to.Stream(func(w io.Writer) error { _, err := io.Copy(w, program); return err }); err != nil {
		return "", fmt.Errorf("copy plimsoll to %s: %w; the directory must be one that this user may write to, with room for the program", dir, err)
	}
	if err := root.Chmod(name, 0o755); err != nil { // whatever the umask left of it
		return "", fmt.Errorf("let everybody run %s: %w", filepath.Join(dir, name), err)
	}
	return filepath.Join(dir, name), nil
}
