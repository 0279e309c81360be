package demo

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/watch/runs"
)

// show starts `plimsoll watch` on what the demo has left, tells the address of the run's page, and waits until ctx ends.
func (s *stage) show(ctx context.Context, tell func(address string)) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "watch")
	cmd.Env, cmd.Dir, cmd.Stderr = s.environ, s.dir, s.said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("start the dashboard: %w", err)
	}
	address, readErr := bufio.NewReader(out).ReadString('\n')
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if readErr != nil {
		return fmt.Errorf("the dashboard did not start: %w\n%s", <-ended, s.said)
	}
	tell(strings.TrimSpace(address) + s.page())
	select {
	case err := <-ended: // on a terminal, Ctrl-C reaches it as well
		if ctx.Err() == nil && err != nil {
			return fmt.Errorf("the dashboard has ended: %w\n%s", err, s.said)
		}
		return nil
	case <-ctx.Done():
	}
	if cmd.Process.Signal(syscall.SIGTERM) != nil {
		_ = cmd.Process.Kill() // Windows has no such signal
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		_ = cmd.Process.Kill()
		<-ended
	}
	return nil
}

// page returns what leads from the dashboard's address to the page of the run; "" where the run cannot be read.
func (s *stage) page() string {
	store, err := runs.Open(filepath.Join(s.dir, "state"))
	if err != nil {
		return ""
	}
	defer store.Close()
	if err := store.Poll(); err != nil {
		return ""
	}
	for _, e := range store.Entries() {
		if e.Tool == runTool {
			return "#/run/" + e.ID
		}
	}
	return ""
}
