package clients_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// patience is how long tests wait for what must come.
const patience = time.Minute

// plimsoll is the binary under test.
var plimsoll string

func TestMain(m *testing.M) {
	if name := os.Getenv(childVariable); name != "" {
		os.Exit(child(name))
	}
	dir, err := os.MkdirTemp("", "plimsoll-clients-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	plimsoll = filepath.Join(dir, "plimsoll")
	build := exec.Command("go", "build", "-o", plimsoll, "./cmd/plimsoll")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n%s", build, err, out)
		os.Exit(1)
	}
	status := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

// start runs plimsoll with a home of its own until the test ends, and gives the address that it writes.
func start(t *testing.T, environment []string, args ...string) string {
	t.Helper()
	home := t.TempDir()
	ready := filepath.Join(home, "ready")
	cmd := exec.Command(plimsoll, append(args, "--listen", "127.0.0.1:0", "--ready-file", ready)...)
	cmd.Dir = home
	cmd.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "PLIMSOLL_STATE_DIR=" + filepath.Join(home, "state")}, environment...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, said.String())
			}
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			t.Errorf("%s did not end", strings.Join(args, " "))
		}
	})
	url := ""
	wait.Until(t, strings.Join(args, " ")+" is ready", func() bool {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%s ended: %v\n%s", strings.Join(args, " "), err, said.String())
		default:
		}
		text, err := os.ReadFile(ready)
		url = strings.TrimSpace(string(text))
		return err == nil && bytes.HasSuffix(text, []byte("\n"))
	})
	return url
}
