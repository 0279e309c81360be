//go:build linux || darwin

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plimsoll/plimsoll/internal/memory"
)

const memoryChild = "PLIMSOLL_E2E_MEMORY"

// As a child of the test below this binary adds 20 notes at once, and nothing else: before TestMain builds anything.
func init() {
	dir := os.Getenv(memoryChild)
	if dir == "" {
		return
	}
	store, err := memory.Open(memory.Options{Dir: dir})
	var writing sync.WaitGroup
	errs := make([]error, 20)
	for n := range errs {
		writing.Go(func() {
			if err == nil {
				_, errs[n] = store.Add(context.Background(), memory.Record{
					Kind: memory.KindNote, Origin: memory.OriginAgent, Namespace: "user", Text: fmt.Sprintf("note %d of process %d", n, os.Getpid()),
				})
			}
		})
	}
	writing.Wait()
	if err = errors.Join(append(errs, err)...); err == nil {
		err = store.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Two processes that write 20 things each at the same time: all 40 are there afterwards. Of the official memory server, with two of its processes on
// one file, that is told and not asserted: it reads the whole file and writes it anew, so who writes in between is lost.
func TestTwoProcessesRemember(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var ours []*exec.Cmd
	for range 2 {
		cmd := exec.CommandContext(t.Context(), exe)
		cmd.Env = append(os.Environ(), memoryChild+"="+dir)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ours = append(ours, cmd)
	}
	for _, cmd := range ours {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	store, err := memory.Open(memory.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	page, err := store.List(t.Context(), memory.Filter{Limit: memory.MaxLimit})
	if err != nil || page.Total != 40 {
		t.Errorf("%d of 40 are there, %v", page.Total, err)
	}

	t.Run("beside the official memory server", func(t *testing.T) {
		server := pinned(t, "mcp-server-memory")
		w := newWorld(t)
		file := filepath.Join(t.TempDir(), "memory.jsonl")
		var sessions []*mcp.ClientSession
		for range 2 {
			cmd := exec.Command(server)
			cmd.Dir, cmd.Env = w.work, append(w.node(), "MEMORY_FILE_PATH="+file)
			sessions = append(sessions, w.connect(&mcp.CommandTransport{Command: cmd}))
		}
		var writing sync.WaitGroup
		var failed atomic.Int64
		for i, s := range sessions {
			for n := range 20 {
				writing.Go(func() {
					said := call(t, s, "create_entities", map[string]any{"entities": []any{map[string]any{
						"name": fmt.Sprintf("note %d of %d", n, i), "entityType": "note", "observations": []string{"words"},
					}}})
					if strings.HasPrefix(said, "error:") || strings.Contains(said, `"isError": true`) {
						failed.Add(1)
					}
				})
			}
		}
		writing.Wait()
		text := testfile.Read(t, file)
		t.Logf("two processes of the official memory server wrote 20 each: %d of 40 are there; %d calls were answered with an error", strings.Count(string(text), `"entityType"`), failed.Load())
	})
}
