//go:build unix

package admission

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/limit"
)

// as makes cmd run as another user, from a copy of this test that the user can reach, and with
// a directory of the user's own as its first argument.
func as(t *testing.T, cmd *exec.Cmd, uid uint32) *exec.Cmd {
	t.Helper()
	base := t.TempDir()
	dir, program := filepath.Join(base, "own"), filepath.Join(base, "test")
	in, err := os.Open(cmd.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(program, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Close(), os.Mkdir(dir, 0o700), os.Chown(dir, int(uid), -1), os.Chmod(filepath.Dir(base), 0o711), os.Chmod(base, 0o755), os.Chmod(program, 0o755))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Path, cmd.Dir = program, base
	cmd.Args = append([]string{program, dir}, cmd.Args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	return cmd
}

// childShare: DIR SHARED RESERVATION CURRENT. Holds a claim until its standard input ends.
func childShare(args []string) error {
	l, err := Open(Options{Dir: args[0], Shared: args[1], Warn: func(w Warning) { fmt.Fprintln(os.Stderr, "warning:", w.Text) }})
	if err != nil {
		return err
	}
	reservation, _ := limit.ParseBytes(args[2])
	current, _ := limit.ParseBytes(args[3])
	c, err := l.Acquire(context.Background(), Request{Tool: "claude", Project: "/secret", Reservation: reservation, SlotsTotal: 1})
	if err != nil {
		return err
	}
	if err := c.Observe(current); err != nil {
		return err
	}
	fmt.Println(c.ID())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return c.Release()
}

func TestClaimsOfAnotherUserCountWhileItsProcessLives(t *testing.T) {
	needRoot(t)
	dir := commons(t)
	cmd, id := startAs(t, userA, "share", dir, "4G", "1G")
	l := open(t, through(dir))
	list, err := l.Holders(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("seen: %+v (%v)", list, err)
	}
	h := list[0]
	if h.ID != id || h.State != Holding || h.User != userName(userA) || h.Tool != "claude" || h.Project != "" || h.Owner.PID != 0 ||
		h.Reservation != 4*limit.GiB || h.Current != limit.GiB {
		t.Errorf("seen: %+v", h)
	}
	if others, warnings, err := Others(dir); err != nil || len(others) != 1 || len(warnings) != 0 {
		t.Errorf("Others: %+v, %v (%v)", others, warnings, err)
	}
	r := Request{Tool: "codex", Reservation: 2 * limit.GiB, MinFree: -1, SlotsTotal: 1, Headroom: machine(4*limit.GiB, 0)}
	_, err = l.Acquire(t.Context(), r)
	if err == nil || !strings.Contains(err.Error(), "claude  user "+userName(userA)) {
		t.Fatalf("3G of 4G are claimed: %v", err)
	}
	if _, previewErr := l.Preview(t.Context(), r); previewErr == nil || previewErr.Error() != err.Error() {
		t.Errorf("Preview says %v, Acquire %v", previewErr, err)
	}
	kill(t, cmd)
	if _, err := l.Preview(t.Context(), r); err != nil {
		t.Errorf("a dead owner's claim counts: %v", err)
	}
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("a preview removed it: %v", got)
	}
	// A third user leaves the dead one's file alone; its own user's next command removes it.
	other, _ := startAs(t, userB, "share", dir, "1M", "0")
	if got := files(t, dir); len(got) != 2 {
		t.Errorf("with the claim of a third user: %v", got)
	}
	same, _ := startAs(t, userA, "share", dir, "1M", "0")
	if got := files(t, dir); len(got) != 2 || strings.Contains(strings.Join(got, " "), id) {
		t.Errorf("after its user's next run: %v", got)
	}
	kill(t, same)
	kill(t, other)
	c := acquire(t, l, r) // root may remove both
	if got := files(t, dir); len(got) != 1 || !strings.Contains(got[0], c.ID()) {
		t.Errorf("after root's next run: %v", got)
	}
}

func TestUserWhoMayNotWriteTheDirectoryGoesOnAlone(t *testing.T) {
	needRoot(t)
	dir := commons(t)
	if err := os.Chmod(dir, 0o755|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	name, text := aNote(t, "x", limit.GiB)
	plant(t, dir, name, text, userA)
	cmd := as(t, child(t, "share", dir, "1M", "0"), userB)
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd, _ = begin(t, "share", cmd) // it has its claim
	kill(t, cmd)
	if got := said.String(); strings.Count(got, "warning:") != 1 || !strings.Contains(got, "cannot be written") {
		t.Errorf("it said %q", got)
	}
}

func startAs(t *testing.T, uid uint32, part string, args ...string) (*exec.Cmd, string) {
	t.Helper()
	return begin(t, part, as(t, child(t, part, args...), uid))
}

// childTurns: DIR SHARED LOG ROUNDS NAME. There is memory for one run at a time, and the log tells who
// ran when: NAME begins, name ends.
func childTurns(args []string) error {
	l, err := Open(Options{Dir: args[0], Shared: args[1], Warn: func(w Warning) { fmt.Fprintln(os.Stderr, "warning:", w.Text) }})
	if err != nil {
		return err
	}
	log, err := os.OpenFile(args[2], os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	rounds, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil { // all begin at once
		return err
	}
	ctx := context.Background()
	for range rounds {
		c, err := l.Acquire(ctx, Request{Tool: "codex", Reservation: 3 * limit.GiB, MinFree: -1, Wait: Forever, Headroom: machine(5*limit.GiB, 0)})
		if err != nil {
			return err
		}
		_, err = log.WriteString(args[4])
		for range 3 { // it runs for as long as decisions of others take
			_, lookErr := l.Holders(ctx)
			err = errors.Join(err, lookErr)
		}
		_, logErr := log.WriteString(strings.ToLower(args[4]))
		if err := errors.Join(err, logErr, c.Release()); err != nil {
			return err
		}
	}
	return nil
}

func TestUsersTakeTurnsOnMemoryForOne(t *testing.T) {
	needRoot(t)
	dir := commons(t)
	log := filepath.Join(dir, "log")
	f, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY, 0o666)
	if err := errors.Join(err, f.Chmod(0o666), f.Close()); err != nil {
		t.Fatal(err)
	}
	const rounds = 8
	users := []uint32{userA, userA, userB, 0} // each with a ledger of its own
	const names = "ABCD"
	var runs []*exec.Cmd
	gate, signal, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	for i, uid := range users {
		cmd := as(t, child(t, "turns", dir, log, strconv.Itoa(rounds), names[i:i+1]), uid)
		cmd.Stdin = gate
		out, err := cmd.StdoutPipe()
		if err := errors.Join(err, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		if _, err := out.Read(make([]byte, 16)); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, cmd)
	}
	if _, err := signal.Write(make([]byte, len(users))); err != nil {
		t.Fatal(err)
	}
	for i, cmd := range runs {
		if err := cmd.Wait(); err != nil {
			t.Errorf("user %d: %v", users[i], err)
		}
	}
	gate.Close()
	signal.Close()
	text, err := os.ReadFile(log)
	if err != nil || len(text) != 2*len(users)*rounds {
		t.Errorf("%d runs began or ended (%v), want %d: %s", len(text), err, 2*len(users)*rounds, text)
	}
	for pair := range slices.Chunk(text, 2) {
		if begun := string(pair[:1]); string(pair) != begun+strings.ToLower(begun) {
			t.Fatalf("two ran at once (%s) in %s", pair, text)
		}
	}
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("left: %v", got)
	}
}

// childBeside: DIR SHARED. Says whether 3G of 5G are to be had, and before that whether it has to wait
// for the decision of another user.
func childBeside(args []string) error {
	var once sync.Once
	failpoint = func(at string) {
		if at == "shared lock busy" {
			once.Do(func() { fmt.Println(at) })
		}
	}
	l, err := Open(Options{Dir: args[0], Shared: args[1], Warn: func(w Warning) { fmt.Fprintln(os.Stderr, "warning:", w.Text) }})
	if err != nil {
		return err
	}
	_, err = l.Acquire(context.Background(), Request{Tool: "codex", Reservation: 3 * limit.GiB, MinFree: -1, Headroom: machine(5*limit.GiB, 0)})
	_, refused := errors.AsType[*Refused](err)
	fmt.Println("refused:", refused)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return nil
}

func TestDecisionsOfTwoUsersDoNotOverlap(t *testing.T) {
	needRoot(t)
	dir := commons(t)
	var during string
	var out *bufio.Reader
	l := open(t, through(dir))
	acquire(t, l, Request{Reservation: 3 * limit.GiB, MinFree: -1, Headroom: func() (headroom.Reading, error) {
		cmd := as(t, child(t, "beside", dir), userA) // in the middle of our decision
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		pipe, err := cmd.StdoutPipe()
		if err := errors.Join(err, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			in.Close()
			_ = cmd.Wait()
		})
		out = bufio.NewReader(pipe)
		during, _ = out.ReadString('\n')
		return machine(5*limit.GiB, 0)()
	}})
	if during != "shared lock busy\n" {
		t.Fatalf("during our decision the other user's process said %q", during)
	}
	if after, err := out.ReadString('\n'); after != "refused: true\n" {
		t.Errorf("after it, %q (%v)", after, err)
	}
}

func TestRequiredIsNotDecidedBesideOtherUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := commons(t)
		var warnings []Warning
		l := open(t, through(dir), hears(&warnings))
		d, err := openShared(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer d.close()
		f, err := d.lock(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		_, err = l.Acquire(t.Context(), Request{Tool: "codex", Required: true})
		if u, ok := errors.AsType[*UncheckedError](err); !ok || u.About != "shared" || !errors.Is(err, ErrSharedLocked) {
			t.Errorf("got %v", err)
		}
	})
}
