// Package natsserver starts real servers of NATS for tests, alone or as a cluster on 127.0.0.1.
//
//	s := natsserver.Start(t)             // with JetStream, at s.URL
//	c := natsserver.Cluster(t, 3)        // c[0].URL, …
//	c[0].Kill(); c[0].Start()            // kill -9, and again with what it had stored
//
// The server is built from the module e2e/nats. Where that cannot be fetched the test is skipped, and fails in CI.
package natsserver

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// Server is a server of NATS.
type Server struct {
	// URL is its address for clients.
	URL string
	// Config is its file, which [Server.Start] reads.
	Config string

	t    testing.TB
	port int
	cmd  *exec.Cmd
}

var program = sync.OnceValues(func() (string, error) {
	root, err := goSays("", "list", "-m", "-f", "{{.Dir}}", "github.com/plimsoll/plimsoll")
	if err != nil {
		return "", err
	}
	return goSays(filepath.Join(root, "e2e", "nats"), "tool", "-n", "nats-server")
})

// goSays returns what the command go prints in dir, without the GOFLAGS that these tests were started with.
func goSays(dir string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

// Program returns the path of nats-server, which it builds the first time. If that fails the test is skipped; in CI it fails.
func Program(t testing.TB) string {
	t.Helper()
	path, err := program()
	switch {
	case err != nil && os.Getenv("CI") != "":
		t.Fatal("no nats-server: ", err)
	case err != nil:
		t.Skip("no nats-server could be built from e2e/nats: ", err)
	}
	return path
}

// Start starts one with JetStream, and lines of configuration of the caller's own. It ends with the test.
func Start(t testing.TB, lines ...string) *Server {
	t.Helper()
	s := prepare(t, "jetstream {store_dir: "+quote(t.TempDir())+"}", strings.Join(lines, "\n"))
	s.Start()
	return s
}

// Plain starts one without JetStream.
func Plain(t testing.TB, lines ...string) *Server {
	t.Helper()
	s := prepare(t, lines...)
	s.Start()
	return s
}

// Cluster starts n servers that store together what is written to any of them.
func Cluster(t testing.TB, n int) []*Server {
	t.Helper()
	var routes []string
	ports := make([]int, n)
	for i := range ports {
		ports[i] = freePort(t)
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", ports[i]))
	}
	all := make([]*Server, n)
	for i := range all {
		all[i] = prepare(t, fmt.Sprintf("server_name: n%d", i), "jetstream {store_dir: "+quote(t.TempDir())+"}",
			fmt.Sprintf("cluster {name: test, listen: 127.0.0.1:%d, routes: [%s]}", ports[i], strings.Join(routes, ", ")))
		all[i].launch()
	}
	for _, s := range all {
		s.waitReady()
	}
	return all
}

func quote(s string) string { return fmt.Sprintf("%q", s) }

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// prepare writes the configuration of a server with a free port, and has the test kill the server at its end. It does not start it.
func prepare(t testing.TB, lines ...string) *Server {
	t.Helper()
	s := &Server{t: t, port: freePort(t), Config: filepath.Join(t.TempDir(), "nats.conf")}
	s.URL = fmt.Sprintf("nats://127.0.0.1:%d", s.port)
	text := fmt.Sprintf("listen: 127.0.0.1:%d\n%s\n", s.port, strings.Join(lines, "\n"))
	if err := os.WriteFile(s.Config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// Start starts a server that was killed again, and waits until it takes connections.
func (s *Server) Start() {
	s.t.Helper()
	s.launch()
	s.waitReady()
}

// launch starts the server process without waiting for it.
func (s *Server) launch() {
	s.t.Helper()
	log := filepath.Join(filepath.Dir(s.Config), "log")
	s.cmd = exec.Command(Program(s.t), "-c", s.Config, "-l", log)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
}

// waitReady waits until the server takes connections.
func (s *Server) waitReady() {
	s.t.Helper()
	wait.Within(s.t, 30*time.Second, "nats-server takes connections", func() bool {
		c, err := net.DialTimeout("tcp", s.URL[len("nats://"):], time.Second)
		if err != nil {
			return false
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(time.Second))
		hello := make([]byte, 5)
		_, err = c.Read(hello)
		return err == nil && string(hello) == "INFO "
	})
}

// Kill kills the server as kill -9 does. What it has stored stays.
func (s *Server) Kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// Signal sends it a signal: SIGSTOP makes one that holds its connections and says nothing.
func (s *Server) Signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}
