//go:build unix

package admission

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/limit"
)

// Users that the tests play when they run as root.
const userA, userB = 65534, 65533

// commons is a directory as an admin makes it. Its parent, which the testing package makes
// private, is opened so that other users get there.
func commons(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o711), os.Chmod(dir, 0o777|fs.ModeSticky)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("playing several users needs root")
	}
}

// plant puts a file of another user into a shared directory, locked as if its owner lived.
func plant(t *testing.T, dir, name, text string, owner int) *os.File {
	t.Helper()
	path := filepath.Join(dir, name)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Chown(owner, -1)); err != nil {
		t.Fatal(err)
	}
	if ok, err := filelock.Try(f, filelock.Exclusive); err != nil || !ok {
		t.Fatal("not locked", err)
	}
	return f
}

// aNote is what user A's claim of reservation says.
func aNote(t *testing.T, id string, reservation limit.Bytes) (name, text string) {
	t.Helper()
	n := note{Schema: schema, Boot: self().Boot, UID: userA, ID: id, Tool: "claude", Reservation: reservation, Since: time.Now()}
	body, err := n.encode()
	if err != nil {
		t.Fatal(err)
	}
	return noteName{boot: n.Boot, uid: n.UID, id: id}.String(), string(body)
}

// hears collects the warnings of a ledger.
func hears(warnings *[]Warning) func(*Options) {
	return func(o *Options) { o.Warn = func(w Warning) { *warnings = append(*warnings, w) } }
}

func through(dir string) func(*Options) { return func(o *Options) { o.Shared = dir } }

func files(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range list {
		if f.Name() != sharedLock {
			names = append(names, f.Name())
		}
	}
	return names
}

func TestClaimIsShownToOthersWhileItLivesAndSaysNoMoreThanNeeded(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077)) // a careful user must not lock out the others
	dir := commons(t)
	l := open(t, through(dir))
	c, err := l.Acquire(t.Context(), Request{Tool: "codex\x1b[31m", Project: "/secret/project", Reservation: 7 * mb})
	if err != nil {
		t.Fatal(err)
	}
	inner := acquire(t, l, Request{Parent: c.ID()})
	if err := c.Observe(3 * mb); err != nil {
		t.Fatal(err)
	}
	want := noteName{boot: l.owner.Boot, uid: os.Geteuid(), id: c.ID()}
	if got := files(t, dir); len(got) != 1 || got[0] != want.String() {
		t.Fatalf("the directory has %v, want only %s: %s is inside it", got, want, inner.ID())
	}
	path := filepath.Join(dir, want.String())
	for _, file := range []string{path, filepath.Join(dir, sharedLock)} {
		if info, err := os.Stat(file); err != nil || info.Mode() != 0o644 {
			t.Errorf("%s: %v (%v), want 0644", file, info.Mode(), err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n, err := parseNote(text, want)
	if err != nil || n.Tool != "codex?[31m" || n.Reservation != 7*mb || n.Current != 3*mb || n.Since.IsZero() {
		t.Errorf("it says %+v (%v)", n, err)
	}
	if strings.Contains(string(text), "secret") {
		t.Errorf("the project is shown to everybody: %s", text)
	}
	if list, err := l.Holders(t.Context()); err != nil || len(list) != 2 {
		t.Errorf("our own claim is counted twice: %+v (%v)", list, err)
	}
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	if got := files(t, dir); len(got) != 0 {
		t.Errorf("after its release %v is left", got)
	}
}

func TestDirectoryThatIsNotFitIsRefusedAndTheRunGoesOn(t *testing.T) {
	base := t.TempDir()
	make := func(name string, mode fs.FileMode) string {
		path := filepath.Join(base, name)
		if err := errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ dir, why string }{
		"missing":                       {filepath.Join(base, "none"), "install -d -o root -m 1777"},
		"a file":                        {file, "not a directory"},
		"no sticky bit":                 {make("loose", 0o777), "no sticky bit"},
		"no sticky bit, for its group":  {make("group", 0o770), "no sticky bit"},
		"of a user who may remove all":  {"", "could remove every claim"},
		"that this user may not write":  {"", "cannot be written"},
		"a link to one without the bit": {filepath.Join(base, "link"), "no sticky bit"},
	}
	if err := os.Symlink(make("behind", 0o777), filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			switch dir := commons(t); {
			case strings.HasPrefix(name, "of a user"):
				needRoot(t)
				if err := os.Chown(dir, userA, -1); err != nil {
					t.Fatal(err)
				}
				test.dir = dir
			case strings.HasPrefix(name, "that this"):
				if os.Geteuid() == 0 {
					t.Skip("root may write everywhere")
				}
				if err := os.Chmod(dir, 0o555|fs.ModeSticky); err != nil {
					t.Fatal(err)
				}
				test.dir = dir
			}
			var warnings []Warning
			l := open(t, through(test.dir), hears(&warnings))
			acquire(t, l, Request{Reservation: mb, Headroom: machine(64*limit.GiB, 0)})
			acquire(t, l, Request{Reservation: mb, Headroom: machine(64*limit.GiB, 0)})
			if len(warnings) != 1 || warnings[0].About != "shared" || !strings.Contains(warnings[0].Text, test.why) {
				t.Fatalf("warnings: %v, want one about %q", warnings, test.why)
			}
			if e, ok := errors.AsType[*SharedError](warnings[0].Err); !ok || e.Dir != test.dir {
				t.Errorf("the warning's cause is %v", warnings[0].Err)
			}
			if _, _, err := Others(test.dir); err == nil {
				t.Error("Others finds it fit")
			}
		})
	}
}

func TestOtherUsersCountUpToWhatTheMachineHasAndForceGoesOn(t *testing.T) {
	needRoot(t)
	dir := commons(t)
	var warnings []Warning
	l := open(t, through(dir), hears(&warnings))
	name, text := aNote(t, "honest", 3*limit.GiB)
	plant(t, dir, name, text, userA)
	r := Request{Tool: "codex", Reservation: 2 * limit.GiB, MinFree: -1, SlotsTotal: 1, SlotsPerTool: 1, Headroom: machine(5*limit.GiB, 0)}
	c, err := l.Acquire(t.Context(), r)
	if err != nil {
		t.Fatalf("3G of another user and 2G of ours fit into 5G, whatever our slots: %v", err)
	}
	if c.Terms().Claimed != 3*limit.GiB || len(c.Terms().Holders) != 1 || c.Terms().Holders[0].User != userName(userA) {
		t.Errorf("terms: %+v", c.Terms())
	}
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	for i := range 3 { // each is possible, together they are not
		name, text := aNote(t, fmt.Sprint("greedy", i), 60*limit.GiB)
		plant(t, dir, name, text, userA)
	}
	for range 2 {
		_, err = l.Acquire(t.Context(), r)
	}
	refused, ok := errors.AsType[*Refused](err)
	capacity, _ := machine(0, 0)()
	if !ok || refused.Never || refused.Terms.Claimed != capacity.Capacity() {
		t.Fatalf("%+v, want a refusal with %s claimed", err, capacity.Capacity())
	}
	for _, want := range []string{"user " + userName(userA), "ask user " + userName(userA) + " to end claude", "--force"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "pid") {
		t.Errorf("a pid is named that is not known:\n%v", err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].Text, "counts for that only") {
		t.Errorf("warnings: %v", warnings)
	}
	r.Force = true
	if c := acquire(t, l, r); !c.Forced() {
		t.Error("not forced")
	}
}

// A claim that no process of this machine could come to use holds nobody back, and is told once; what an honest run shares is believed whatever
// it has reserved.
func TestAClaimOfMoreThanTheMachineHasHoldsNobodyBack(t *testing.T) {
	needRoot(t)
	dir := commons(t)
	var warnings []Warning
	l := open(t, through(dir), hears(&warnings))
	for i, reservation := range []limit.Bytes{maxReserved, 81 * limit.GiB} {
		name, text := aNote(t, fmt.Sprint("greedy", i), reservation)
		plant(t, dir, name, text, userA)
	}
	r := Request{Tool: "codex", Reservation: 2 * limit.GiB, MinFree: -1, Headroom: machine(5*limit.GiB, 0)}
	for range 2 {
		if err := acquire(t, l, r).Release(); err != nil {
			t.Fatal(err)
		}
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].Text, "user "+userName(userA)+" claims 1024 TiB for claude, more than the memory and swap of this machine (80 GiB)") {
		t.Errorf("warnings: %v", warnings)
	}
	name, text := aNote(t, "credible", 4*limit.GiB)
	plant(t, dir, name, text, userA)
	if _, err := l.Acquire(t.Context(), r); err == nil {
		t.Error("a claim beside them that may be true did not count")
	}
	forced := acquire(t, open(t, through(dir), hears(new([]Warning))), Request{Tool: "big", Reservation: limit.TiB, MinFree: -1, Force: true, Headroom: machine(5*limit.GiB, 0)})
	others, _, err := Others(dir)
	if err != nil {
		t.Fatal(err)
	}
	own := l.readShared(false).own
	if len(others) != 3 || len(own) != 1 || own[0].ID != forced.ID() || own[0].Reservation != 80*limit.GiB {
		t.Errorf("a run that was forced is seen as %+v, beside %d of others", own, len(others))
	}
}

func TestFilesThatAreNoClaimsAreIgnoredWithOneWarning(t *testing.T) {
	needRoot(t)
	boot := self().Boot
	good, text := aNote(t, "x", limit.GiB)
	path := func(dir string) string { return filepath.Join(dir, good) }
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	planted := func(text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { plant(t, dir, good, text, userA) }
	}
	for name, test := range map[string]struct {
		put func(*testing.T, string)
		why string
	}{
		"a link to a file": {func(t *testing.T, dir string) {
			if err := os.Symlink(victim, path(dir)); err != nil {
				t.Fatal(err)
			}
		}, "symbolic link"},
		"a link to nowhere": {func(t *testing.T, dir string) {
			if err := os.Symlink(filepath.Join(dir, "none"), path(dir)); err != nil {
				t.Fatal(err)
			}
		}, "symbolic link"},
		"a pipe without a writer": {func(t *testing.T, dir string) {
			if err := syscall.Mkfifo(path(dir), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "no regular file"},
		"a directory": {func(t *testing.T, dir string) {
			if err := os.Mkdir(path(dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "no regular file"},
		"of another owner than its name says": {func(t *testing.T, dir string) { plant(t, dir, good, text, userB) }, "it belongs to user " + userName(userB)},
		"empty":                               {planted(""), "unexpected end"},
		"cut":                                 {planted(text[:40]), "unexpected end"},
		"no text":                             {planted("\xff\xfe\x00"), "invalid character"},
		"oversized":                           {planted(text + strings.Repeat(" ", maxNote)), "larger than"},
		"a hole of a terabyte": {func(t *testing.T, dir string) {
			if err := plant(t, dir, good, text, userA).Truncate(1 << 40); err != nil {
				t.Fatal(err)
			}
		}, "larger than"},
		"a negative size":             {planted(strings.Replace(text, `_bytes":1073741824`, `_bytes":-1073741824`, 1)), "negative"},
		"a giant number":              {planted(strings.Replace(text, `_bytes":1073741824`, `_bytes":7e99`, 1)), "7e99"},
		"more than any machine has":   {planted(strings.Replace(text, `_bytes":1073741824`, `_bytes":9223372036854775807`, 1)), "it claims"},
		"another boot in its text":    {planted(strings.Replace(text, boot, "other", 1)), "another claim"},
		"another user in its text":    {planted(strings.Replace(text, `"uid":65534`, `"uid":0`, 1)), "another claim"},
		"of a schema to come":         {planted(strings.Replace(text, `"schema":1`, `"schema":2`, 1)), "schema 2"},
		"of another boot in its name": {func(t *testing.T, dir string) { plant(t, dir, "other.65534.x.claim", text, userA) }, ""},
		"of a strange name":           {func(t *testing.T, dir string) { plant(t, dir, boot+".065534.x.claim", text, userA) }, ""},
		"half made":                   {func(t *testing.T, dir string) { plant(t, dir, boot+".65534.x.new", text, userA) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := commons(t)
			test.put(t, dir)
			var warnings []Warning
			l := open(t, through(dir), hears(&warnings))
			for range 2 {
				c, err := l.Acquire(t.Context(), Request{Tool: "codex", Reservation: limit.GiB, MinFree: -1, Headroom: machine(limit.GiB, 0)})
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Release(); err != nil {
					t.Fatal(err)
				}
			}
			switch {
			case test.why == "" && len(warnings) > 0:
				t.Errorf("warnings: %v", warnings)
			case test.why != "" && (len(warnings) != 1 || !strings.Contains(warnings[0].Text, test.why)):
				t.Errorf("warnings: %v, want one about %q", warnings, test.why)
			}
			if len(files(t, dir)) != 1 {
				t.Error("what is there of another user was removed")
			}
		})
	}
	if got, err := os.ReadFile(victim); err != nil || string(got) != text {
		t.Errorf("the file behind the link is now %q (%v)", got, err)
	}
}

func TestClaimThatCannotBeShownIsHeldAllTheSame(t *testing.T) {
	dir := commons(t)
	var warnings []Warning
	l := open(t, through(dir), hears(&warnings))
	squatted := noteName{boot: l.owner.Boot, uid: os.Geteuid(), id: "mine", draft: true}
	if err := os.Symlink(filepath.Join(dir, "target"), filepath.Join(dir, squatted.String())); err != nil {
		t.Fatal(err)
	}
	c := acquire(t, l, Request{ID: "mine"})
	if err := c.Observe(mb); err != nil {
		t.Error(err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].Text, "other users do not see this run") {
		t.Errorf("warnings: %v", warnings)
	}
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("written through a link: %v", got)
	}
}

func TestManyFilesAreBounded(t *testing.T) {
	dir := commons(t)
	for i := range MaxShared + 1 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var warnings []Warning
	acquire(t, open(t, through(dir), hears(&warnings)), Request{})
	if len(warnings) != 1 || !strings.Contains(warnings[0].Text, "more than 4096 files") {
		t.Errorf("warnings: %v", warnings)
	}
}
