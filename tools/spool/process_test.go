//go:build unix

package spool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// The test binary is also the child that is killed, or that shares a spool.
func TestMain(m *testing.M) {
	if mode := os.Getenv("SPOOL_CHILD"); mode != "" {
		if err := child(mode, os.Getenv("SPOOL_DIR")); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(mode, dir string) error {
	if mode == "small" {
		// The system's signal for a file that would get too large is not wanted, the error is.
		maxBytes := unix.Rlimit{Cur: 2 << 20, Max: 2 << 20}
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &maxBytes); err != nil {
			return err
		}
	}
	s, err := Open(Options{Dir: dir, MaxBytes: 16 * limit.MiB})
	if err != nil {
		return err
	}
	line := strings.Repeat(`{"name":"item","value":12345678},`, 2000)
	switch mode {
	case "small":
		return fillDisk(s)
	case "share":
		for range 20 {
			w, err := s.Create(Source{Principal: me})
			if err != nil {
				return err
			}
			for range 16 {
				if _, err = w.Write([]byte(line)); err != nil {
					break
				}
			}
			if _, full := errors.AsType[*Full](err); full {
				if err := w.Discard(); err != nil {
					return err
				}
			} else if err = errors.Join(err, w.Complete(Final{})); err != nil {
				return err
			}
		}
		return nil
	}
	for { // until killed
		w, err := s.Create(Source{Principal: me})
		if err != nil {
			return err
		}
		if _, err := w.Write([]byte(`[`)); err != nil {
			return err
		}
		for range rand.IntN(60) {
			if _, err := w.Write([]byte(line)); err != nil {
				return err
			}
		}
		if _, err := w.Write([]byte(`{}]`)); err != nil {
			return err
		}
		if err := w.Complete(Final{}); err != nil {
			return err
		}
		fmt.Println(w.Handle())
	}
}

func start(t *testing.T, mode, dir string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "SPOOL_CHILD="+mode, "SPOOL_DIR="+dir)
	out, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	return cmd, bufio.NewReader(out)
}

// A writer is killed at random moments: what it had completed is there and whole, what it
// was writing is removed, and the ledger agrees with the disk.
func TestKilledWriters(t *testing.T) {
	dir := t.TempDir()
	for range 12 {
		cmd, out := start(t, "write", dir)
		var last string
		for range 1 + rand.IntN(4) {
			l, err := out.ReadString('\n')
			must(t, err)
			last = strings.TrimSpace(l)
		}
		time.Sleep(time.Duration(rand.IntN(8_000)) * time.Microsecond) // anywhere in the next ones
		must(t, cmd.Process.Kill())
		rest, _ := io.ReadAll(out)
		_ = cmd.Wait()
		if whole := rest[:bytes.LastIndexByte(rest, '\n')+1]; len(whole) > 0 {
			last = string(bytes.Fields(whole)[bytes.Count(whole, []byte("\n"))-1])
		}
		j := journal.New(journal.Options{})
		s, err := Open(Options{Dir: dir, MaxBytes: 16 * limit.MiB, Journal: j})
		must(t, err)
		r := read(t, s, last)
		if got := pages(t, r, 100); !got[0].JSON {
			t.Error("no pages of items")
		}
		_ = r.Close()
		must(t, s.withLedger(func(l *ledger) error {
			for _, a := range l.accounts {
				if a.writing {
					t.Error("an entry of a dead writer is still there")
				}
			}
			if len(l.accounts) != entries(t, dir)-len(s.gone) {
				t.Errorf("%d accounts, %d entries", len(l.accounts), entries(t, dir))
			}
			return nil
		}))
		if used := size(t, dir); used > 16<<20+64<<10 {
			t.Errorf("%d bytes on the disk", used)
		}
		must(t, s.Close())
	}
}

func TestSeveralProcessesShareAQuota(t *testing.T) {
	dir := t.TempDir()
	var children []*exec.Cmd
	for range 3 {
		cmd, _ := start(t, "share", dir)
		children = append(children, cmd)
	}
	done := make(chan error)
	go func() {
		var err error
		for _, c := range children {
			err = errors.Join(err, c.Wait())
		}
		done <- err
	}()
	look := open(t, Options{Dir: dir, MaxBytes: 16 * limit.MiB})
	maxBytes := int64(0)
	for running := true; running; {
		select {
		case err := <-done:
			must(t, err)
			running = false
		default:
			must(t, look.withLedger(func(*ledger) error { // nobody sets room aside meanwhile
				maxBytes = max(maxBytes, used(dir))
				return nil
			}))
		}
	}
	if maxBytes > 16<<20+64<<10 { // and the ledger itself
		t.Errorf("%d bytes on the disk at once, the quota is 16 MiB", maxBytes)
	}
	s := open(t, Options{Dir: dir, MaxBytes: 16 * limit.MiB})
	must(t, s.withLedger(func(l *ledger) error {
		for _, a := range l.accounts {
			if disk := s.diskUse(a.id.String()); a.bytes != disk {
				t.Errorf("the ledger has %d bytes of an entry of %d", a.bytes, disk)
			}
		}
		return nil
	}))
}

// used sums what is there while others remove it.
func used(dir string) (sum int64) {
	list, _ := os.ReadDir(dir)
	for _, d := range list {
		if strings.HasPrefix(d.Name(), goneProlog) {
			continue
		}
		files, _ := os.ReadDir(dir + "/" + d.Name())
		for _, f := range files {
			if info, err := f.Info(); err == nil {
				sum += info.Size()
			}
		}
	}
	return sum
}

// A result that another process writes can be read when it has ended; and is found to be
// lost when that process dies.
func TestReadingWhatAnotherProcessWrites(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, Options{Dir: dir}), open(t, Options{Dir: dir})
	w := create(t, a, Source{})
	write(t, w, "some text\n")
	r := read(t, b, w.Handle())
	page := make(chan Page)
	go func() {
		p, err := r.Page(t.Context(), 1, 0)
		if err != nil {
			t.Error(err)
		}
		page <- p
	}()
	must(t, w.Complete(Final{}))
	if p := <-page; string(p.Text) != "some text\n" {
		t.Errorf("%+v", p)
	}
	w = create(t, a, Source{})
	r = read(t, b, w.Handle())
	w.lock.Close() // as its process's end does
	if _, err := r.Page(t.Context(), 1, 0); err == nil {
		t.Error("a page of nothing")
	} else if _, ok := errors.AsType[*NotFound](err); !ok {
		t.Error(err)
	}
}

func fillDisk(s *Spool) error {
	for range 3 {
		w, err := s.Create(Source{Principal: me})
		if err != nil {
			return err
		}
		for err == nil {
			_, err = w.Write([]byte(strings.Repeat("a line of text\n", 5000)))
		}
		full, ok := errors.AsType[*Full](err)
		if !ok || full.Why != "disk" || !strings.Contains(err.Error(), s.Dir()) {
			return fmt.Errorf("%w, want a full disk", err)
		}
		if err := w.Cut("the disk is full"); err != nil {
			return fmt.Errorf("cut: %w", err)
		}
		r, err := s.Read(me, w.Handle())
		if err != nil {
			return err
		}
		defer r.Close()
		t := r.Totals()
		if t.Bytes < 1<<20 || t.Cut == "" {
			return fmt.Errorf("totals %+v", t)
		}
		p, err := r.Page(context.Background(), int(t.Pages), 0)
		if err != nil || p.To != t.Items || p.HasNext() {
			return fmt.Errorf("page %+v: %w", p, err)
		}
		if err := r.Close(); err != nil {
			return err
		}
	}
	return nil
}

func TestAFileThatMustNotGrow(t *testing.T) {
	cmd, out := start(t, "small", t.TempDir())
	text, _ := io.ReadAll(out)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, text)
	}
}
