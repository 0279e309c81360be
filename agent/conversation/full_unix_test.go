//go:build unix

package conversation

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/diskspace"
	"github.com/plimsoll/plimsoll/limit"
)

// smallFiles is a process that may write no file larger than 64 KiB: an append breaks off in
// the middle of a record, as on a full disk.
func smallFiles(dir string) error {
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 64 << 10, Max: 64 << 10}); err != nil {
		return err
	}
	s, err := Open(Options{Dir: dir})
	if err != nil {
		return err
	}
	return fill(s)
}

// fill writes until there is no room, and holds that nothing is lost then.
func fill(s *Store) error {
	c, err := s.Open(bg, "s", false)
	if err != nil {
		return err
	}
	said := 0
	big := agent.Message{Role: agent.RoleUser, Text: strings.Repeat("x", 10_000)}
	for err == nil && said < 1000 {
		if err = c.Append(big, big); err == nil {
			said += 2
		}
	}
	switch {
	case err == nil || said == 0:
		return fmt.Errorf("%d messages, %w", said, err)
	case !diskspace.IsFull(err) || !strings.Contains(err.Error(), `session "s"`) || !strings.Contains(err.Error(), "make room on the disk of "+s.o.Dir):
		return fmt.Errorf("the wrong error: %w", err)
	case len(c.Messages()) != said:
		return fmt.Errorf("%d messages, want %d", len(c.Messages()), said)
	}
	// A small one still has room, or is refused; either way the file is whole.
	if c.Append(agent.Message{Role: agent.RoleUser, Text: "small"}) == nil {
		said++
	}
	onDisk := func() (total limit.Bytes) {
		items, _ := s.listFiles()
		for _, it := range items {
			total += limit.Bytes(it.size)
		}
		return total
	}
	if before := s.Stats().Bytes; before != onDisk() {
		return fmt.Errorf("%d bytes are reckoned with, there are %d", before, onDisk())
	}
	if err := c.Replace(append(c.Messages(), big, big, big, big, big, big, big)); !diskspace.IsFull(err) {
		return fmt.Errorf("a replacement that has no room: %w", err)
	}
	if err := c.Close(); err != nil {
		return err
	}
	if c, err = s.Open(bg, "s", true); err != nil {
		return err
	}
	if got := len(c.Messages()); got != said || s.Stats().Damaged+s.Stats().Torn > 0 || s.Stats().Bytes != onDisk() {
		return fmt.Errorf("%d messages, want %d: %+v, %d bytes", got, said, s.Stats(), onDisk())
	}
	if left, err := filepath.Glob(filepath.Join(s.o.Dir, "*"+tempExt+"*")); err != nil || len(left) > 0 {
		return fmt.Errorf("left: %v, %w", left, err)
	}
	return errors.Join(c.Replace(talk[:1]), c.Append(talk[1]), c.Close())
}

func TestAFileThatMustNotGrow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "CONVERSATION_CHILD=small", "CONVERSATION_DIR="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	same(t, "with room again", newRig(t, dir, Options{}).messages("s"), talk[:2])
}

// The lock is of the open file, so that a child that inherits nothing holds nothing.
func TestALockThatWasRemovedCountsForNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), Options{})
	first, err := r.tryLock(keyOf("s"))
	must(t, err)
	if second, err := r.tryLock(keyOf("s")); second != nil || err != nil {
		t.Errorf("two have the lock: %v", err)
	}
	must(t, os.Remove(filepath.Join(r.dir, keyOf("s")+lockExt)))
	second, err := r.tryLock(keyOf("s"))
	if second == nil || err != nil {
		t.Fatalf("a removed lock is in the way: %v", err)
	}
	r.unlock(keyOf("s"), second)
	_ = first.Close()
	if left, err := os.ReadDir(r.dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if line, err := bufio.NewReader(strings.NewReader(r.holderText(keyOf("s")))).ReadString('\n'); line != "" || err == nil {
		t.Errorf("nobody has it, but %q", line)
	}
}
