package e2e

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serviceManager starts the program as systemd does, with a socket for notifications and, when ln is not nil, that one passed.
func (w *world) serviceManager(ln *net.TCPListener, env []string, args ...string) (*exec.Cmd, *net.UnixConn, *bytes.Buffer) {
	w.t.Helper()
	address := fmt.Sprintf("@plimsoll-e2e-%s", w.cookie)
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	// Only the process itself knows its id before it starts.
	cmd := exec.Command("sh", append([]string{"-c", `export LISTEN_PID=$$ WATCHDOG_PID=$$; exec "$0" "$@"`, plimsoll}, args...)...)
	cmd.Dir, cmd.Env = w.work, w.environment(append(env, "NOTIFY_SOCKET="+address)...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if ln != nil {
		f, err := ln.File()
		if err != nil {
			w.t.Fatal(err)
		}
		defer f.Close()
		cmd.ExtraFiles = []*os.File{f}
		cmd.Env = append(cmd.Env, "LISTEN_FDS=1", "LISTEN_FDNAMES=plimsoll-serve.socket")
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, conn, &said
}

// notice is the next datagram, "" when there is none in time.
func notice(conn *net.UnixConn, patience time.Duration) string {
	b := make([]byte, 4096)
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	n, _ := conn.Read(b)
	return string(b[:n])
}

func loopbackSocket(t *testing.T, host string) *net.TCPListener {
	t.Helper()
	ln, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln.(*net.TCPListener)
}

// What serves says when it is ready, at the socket that it was passed, shows life while it runs, none while it
// is stopped, and says when it ends.
func TestServesUnderAServiceManager(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"serve":       {"serve"},
		"watch":       {"watch"},
		"agent serve": {"agent", "serve", "--model", "standin"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ln := loopbackSocket(t, "127.0.0.1")
			url := "http://" + ln.Addr().String()
			cmd, conn, said := w.serviceManager(ln, []string{"WATCHDOG_USEC=2000000", simulated}, args...)
			_ = ln.Close() // the service manager's own end does not take connections
			if got, want := notice(conn, time.Minute), "READY=1\nSTATUS=serving on "+url; got != want {
				t.Fatalf("first %q, not %q\n%s", got, want, said)
			}
			r, err := http.Get(url + "/readyz")
			if err != nil || r.StatusCode != http.StatusOK {
				t.Errorf("when it said that it is ready: %v, %v", r, err)
			} else {
				_ = r.Body.Close()
			}
			for range 2 {
				if got := notice(conn, 10*time.Second); got != "WATCHDOG=1" {
					t.Errorf("%q is no sign of life", got)
				}
			}
			if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			for notice(conn, 100*time.Millisecond) != "" { // sent before it stopped
			}
			if got := notice(conn, 2*time.Second); got != "" {
				t.Errorf("stopped, it sent %q", got)
			}
			if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			last := notice(conn, 10*time.Second)
			for last == "WATCHDOG=1" {
				last = notice(conn, 10*time.Second)
			}
			if !strings.HasPrefix(last, "STOPPING=1\nSTATUS=ending") {
				t.Errorf("at the end %q", last)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v\n%s", err, said)
			}
		})
	}
}

// A passed socket is no way around the rules of [serve] listen.
func TestServePassedSocketBeyondLoopbackNeedsAToken(t *testing.T) {
	w := newWorld(t)
	ln := loopbackSocket(t, "0.0.0.0")
	cmd, conn, said := w.serviceManager(ln, nil, "serve")
	err := cmd.Wait()
	if err == nil || !strings.Contains(said.String(), "is not a loopback address: listening there needs a token") ||
		!strings.Contains(said.String(), ln.Addr().String()) {
		t.Errorf("%v\n%s", err, said)
	}
	if got := notice(conn, 100*time.Millisecond); got != "" {
		t.Errorf("it sent %q", got)
	}
}

// The watchdog is answered over TLS too, and the token may come as a credential.
func TestServeWatchdogOverTLSAndACredential(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed")
	}
	w := newWorld(t)
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	if out, err := exec.Command(openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=elsewhere", "-days", "2", "-keyout", key, "-out", cert).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	writeAs(t, filepath.Join(dir, "DAEMON_TOKEN"), "0123456789abcdef\n", 0o600)
	cmd, conn, said := w.serviceManager(loopbackSocket(t, "0.0.0.0"), []string{
		"WATCHDOG_USEC=2000000", "CREDENTIALS_DIRECTORY=" + dir, "PLIMSOLL_SERVE_TOKEN=DAEMON_TOKEN",
		"PLIMSOLL_SERVE_TLS_CERT=" + cert, "PLIMSOLL_SERVE_TLS_KEY=" + key,
	}, "serve")
	if got := notice(conn, time.Minute); !strings.HasPrefix(got, "READY=1\nSTATUS=serving on https://localhost:") {
		t.Fatalf("%q\n%s", got, said)
	}
	if got := notice(conn, 10*time.Second); got != "WATCHDOG=1" {
		t.Errorf("%q is no sign of life\n%s", got, said)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}
