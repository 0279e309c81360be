package main

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// TestAStateDirectoryThatTakesNothing: the run goes on and says that history is off.
func TestAStateDirectoryThatTakesNothing(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("mounting needs root")
	}
	mount := func(s *site, options string, flags uintptr) {
		dir := t.TempDir()
		if err := syscall.Mount("plimsoll-test", dir, "tmpfs", flags, options); err != nil {
			t.Skip("no tmpfs can be mounted here:", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
		s.env = append(s.env, "PLIMSOLL_STATE_DIR="+dir)
		s.state = dir
	}
	t.Run("read-only", func(t *testing.T) {
		s := newSite(t)
		mount(s, "size=1m", syscall.MS_RDONLY)
		r, o := s.report("--", "echo", "ran")
		if o.code != 0 || o.stdout != "ran\n" || r.Outcome != "ok" {
			t.Errorf("%+v, %+v", o, r)
		}
		contains(t, "the warning", o.stderr, "history is off", "not coordinated")
		contains(t, "the report", strings.Join(r.Warnings, "\n"), "history is off", "not coordinated")
	})
	t.Run("full", func(t *testing.T) {
		s := newSite(t)
		mount(s, "size=64k", 0)
		if o := s.plimsoll("run", "--quiet", "--", "true"); o.code != 0 {
			t.Fatalf("while there is room: %+v", o)
		}
		f, err := os.Create(filepath.Join(s.state, "filler"))
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
		f.Close()
		o := s.plimsoll("run", "--", "echo", "ran")
		if o.code != 0 || o.stdout != "ran\n" {
			t.Errorf("%+v", o)
		}
		contains(t, "the warning", o.stderr, "history", "space")
		if err := os.Remove(filepath.Join(s.state, "filler")); err != nil {
			t.Fatal(err)
		}
		if o := s.plimsoll("run", "--", "echo", "ran"); o.code != 0 || o.stderr != weakLayer() {
			t.Errorf("with room again: %+v", o)
		}
		if sum := s.summary("true"); sum.Recorded != 1 {
			t.Errorf("what was recorded before is lost: %+v", sum)
		}
	})
}

// TestDamagedFilesAreSetAsideAndNamed: nothing is silently forgotten.
func TestDamagedFilesAreSetAsideAndNamed(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"cut": `{"schema":1,"pro`, "empty": "", "null": "null", "another": `[1,2,3]`, "bytes": "\x00\xff\xfe\x1b[31m",
		"giant number": `{"schema":1e999,"entries":[]}`,
	} {
		s := newSite(t)
		s.plimsoll("run", "--quiet", "--", "true")
		histories, _ := filepath.Glob(filepath.Join(s.state, "history", "*.json"))
		ledgers, _ := filepath.Glob(filepath.Join(s.state, "run", "ledger", "*", "ledger.table"))
		if len(histories) != 1 || len(ledgers) != 1 {
			t.Fatalf("files: %v, %v", histories, ledgers)
		}
		for _, file := range []string{histories[0], ledgers[0]} {
			testfile.Write(t, file, body)
		}
		o := s.plimsoll("run", "--", "true")
		if o.code != 0 || o.stdout != "" || strings.ContainsRune(o.stderr, 0x1b) {
			t.Errorf("%s: %+v", name, o)
		}
		kept := func(pattern string) string {
			files, _ := filepath.Glob(filepath.Join(s.state, pattern))
			if len(files) != 1 {
				t.Errorf("%s: set aside as %v; %s", name, files, o.stderr)
				return ""
			}
			if got, err := os.ReadFile(files[0]); err != nil || string(got) != body {
				t.Errorf("%s: %s holds %q, %v", name, files[0], got, err)
			}
			return files[0]
		}
		contains(t, name, o.stderr, histories[0], filepath.Base(kept("history/*.damaged-*")), kept("run/ledger/*/ledger*.damaged-*"))
		if o := s.plimsoll("run", "--", "true"); o.code != 0 || o.stderr != weakLayer() {
			t.Errorf("%s: the run after that: %+v", name, o)
		}
	}
}

// TestADamagedLedgerKeepsTheClaimsOfRunsThatLive.
func TestADamagedLedgerKeepsTheClaimsOfRunsThatLive(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.configure("[tools.codex]\nmax_concurrent = 1\n")
	cmd, in, _ := s.heldRun("--tool", "codex")
	ledgers, _ := filepath.Glob(filepath.Join(s.state, "run", "ledger", "*", "ledger.table"))
	testfile.Write(t, ledgers[0], "{{{")
	if o := s.plimsoll("run", "--tool", "codex", "--", "true"); o.code != 125 {
		t.Errorf("the slot was given away: %+v", o)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if o := s.plimsoll("run", "--quiet", "--tool", "codex", "--", "true"); o.code != 0 || len(s.claims()) != 0 {
		t.Errorf("after it: %+v, claims %v", o, s.claims())
	}
}

// TestClockJumps: a history from the future is a history.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.plimsoll("run", "--quiet", "--", "agent", "hold", "50")
	files, _ := filepath.Glob(filepath.Join(s.state, "history", "*.json"))
	body := testfile.Read(t, files[0])
	year := time.Now().UTC().Format("2006-")
	future := strings.ReplaceAll(string(body), `"`+year, `"2099-`)
	if future == string(body) {
		t.Fatalf("no time found in %s", body)
	}
	testfile.Write(t, files[0], future)
	d := s.decision("--", "agent", "hold", "50")
	if d.Estimate.Samples != 1 || d.Estimate.Source != "history:project" {
		t.Errorf("%+v", d.Estimate)
	}
	if o := s.plimsoll("run", "--", "agent", "hold", "50"); o.code != 0 || o.stderr != weakLayer() {
		t.Errorf("%+v", o)
	}
	if sum := s.summary("agent"); sum.Recorded != 2 || sum.Samples != 2 {
		t.Errorf("%+v", sum)
	}
}

func TestHomeUnset(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.env = []string{s.env[0]} // PATH, and a ledger that is nobody's
	s.env = append(s.env, "PLIMSOLL_STATE_DIR="+s.state)
	if o := s.plimsoll("run", "--", "echo", "ran"); o.code != 0 || o.stdout != "ran\n" || o.stderr != weakLayer() {
		t.Errorf("%+v", o)
	}
	// An unusable one is named.
	s.env[1] = "PLIMSOLL_STATE_DIR=relative"
	o := s.plimsoll("run", "--", "echo", "ran")
	if o.code != 0 || o.stdout != "ran\n" {
		t.Errorf("%+v", o)
	}
	contains(t, "the warning", o.stderr, "PLIMSOLL_STATE_DIR", "history is off")
}

func TestTenThousandArguments(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	args := make([]string, 10_000)
	for i := range args {
		args[i] = fmt.Sprintf("argument %d \x1b[31m\xff\n", i)
	}
	args[7] = strings.Repeat("long ", 20_000) // one argument may have 128 KiB
	want := fmt.Sprintln(len(args), crc32.ChecksumIEEE([]byte(strings.Join(args, "\x00"))))
	for _, layer := range layersHere() {
		r, o := s.report(append([]string{"--quiet", "--layer", layer, "--", "agent", "args"}, args...)...)
		if o.code != 0 || o.stdout != want {
			t.Errorf("%s: status %d, %q, want %q; %.300s", layer, o.code, o.stdout, want, o.stderr)
		}
		if len(r.Command) != len(args)+2 {
			t.Errorf("%s: the report has %d arguments", layer, len(r.Command))
		}
	}
}

func TestTwoProjectsOfOneNameAreTwo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.plimsoll("run", "--quiet", "--", "agent", "hold", "100")
	other := filepath.Join(t.TempDir(), "web")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	s.dir = other
	if d := s.decision("--", "agent", "hold", "1"); d.Project != "web" || d.Estimate.Source != "history:tool" {
		t.Errorf("the other project's history is taken for this one's: %+v", d.Estimate)
	}
	s.plimsoll("run", "--quiet", "--", "true")
	o := s.plimsoll("stats", "--all", "--json")
	var list []struct{ Project, Tool string }
	if err := json.Unmarshal([]byte(o.stdout), &list); err != nil || len(list) != 2 {
		t.Errorf("%v, %s", err, o.stdout)
	}
	files, _ := filepath.Glob(filepath.Join(s.state, "history", "*.json"))
	if len(files) != 2 {
		t.Errorf("files %v", files)
	}
}

// TestAStateDirectorySharedByTwoHosts: the other host's claims are neither ours to count nor
// to clean up.
func TestAStateDirectorySharedByTwoHosts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.configure("[tools.codex]\nmax_concurrent = 1\n")
	agent := killedRun(t, s, "--tool", "codex", "--layer", "monitor")
	boots, _ := filepath.Glob(filepath.Join(s.state, "run", "ledger", "*"))
	if len(boots) != 1 {
		t.Fatalf("boots %v", boots)
	}
	other := filepath.Join(filepath.Dir(boots[0]), "11111111-2222-3333-4444-555555555555")
	if err := os.Rename(boots[0], other); err != nil {
		t.Fatal(err)
	}
	before, _ := filepath.Glob(filepath.Join(other, "claims", "*"))
	if o := s.plimsoll("run", "--quiet", "--tool", "codex", "--", "true"); o.code != 0 {
		t.Errorf("the other host's claim holds our slot: %+v", o)
	}
	s.collect()
	if after, _ := filepath.Glob(filepath.Join(other, "claims", "*")); !slices.Equal(before, after) || len(after) == 0 {
		t.Errorf("the other host's claims were %v and are %v", before, after)
	}
	if !lives(agent) {
		t.Error("a process was ended that another host's claim names")
	}
	_ = syscall.Kill(agent, syscall.SIGKILL)
}

// TestNothingOfNamesReachesTheTerminalRaw: control characters in arguments, tools' and
// projects' names.
func TestNothingOfNamesReachesTheTerminalRaw(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	evil := "e\x1b]0;title\x07\x1b[31mvil\xff\n"
	s.dir = filepath.Join(t.TempDir(), evil)
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(s.dir, "t\x1b[32mool\x9b31m")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	check := func(what, text string) {
		t.Helper()
		for _, bad := range []string{"\x1b]0;", "\x1b[31mv", "\x1b[32mo", "\x07", "\xff", "\x9b"} {
			if strings.Contains(strings.ReplaceAll(text, "\u009b", "?"), bad) {
				t.Errorf("%s has %q: %q", what, bad, text)
			}
		}
	}
	screen, code := s.terminal("run", "--layer", "monitor", "--", tool, evil)
	if code != 3 {
		t.Errorf("status %d: %q", code, screen)
	}
	check("the report", screen)
	for _, args := range [][]string{
		{"run", "--dry-run", "--", tool, evil},
		{"run", "--", evil},
		{"run", "--", "./" + evil},
		{"run", "--tool", evil, "--", "true"},
		{"run", "--report", filepath.Join(evil, evil), "--", "true"},
		{"run", "--memory-max", evil, "--", "true"},
		{"run", "--" + evil},
		{evil},
		{"run", "--layer", evil, "--", "true"},
		{"stats"},
		{"stats", evil},
		{"stats", evil, "--format", "k8s"},
		{"gc", evil},
		{"config", "check", evil},
		{"config", "explain", evil},
		{"config", "show"},
	} {
		o := s.plimsoll(args...)
		check(fmt.Sprintf("%q, stdout", args), o.stdout)
		check(fmt.Sprintf("%q, stderr", args), o.stderr)
	}
	o := s.plimsoll("run", "--quiet", "--", "plimsoll", "top", "--once", "--tree")
	check("top", o.stdout+o.stderr)
	if d := s.decision("--", tool); !strings.HasPrefix(d.Path, "/") {
		t.Errorf("%+v", d)
	}
	for _, args := range [][]string{{"stats", "--json"}, {"stats", "--format", "json", "x"}, {"top", "--once", "--json"}} {
		o := s.plimsoll(args...)
		if !json.Valid([]byte(o.stdout)) {
			t.Errorf("%v is no JSON: %q", args, o.stdout)
		}
	}
	r, _ := s.report("--", "sh", "-c", "exit 0", evil)
	if r.Project == "" || len(r.Command) != 4 {
		t.Errorf("%+v", r)
	}
}

func TestTheWorkingDirectoryIsGone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.wrap = []string{"sh", "-c", `rmdir "$PWD"; exec "$@"`, "sh"}
	o := s.plimsoll("run", "--", "echo", "ran")
	if o.code != 0 || o.stdout != "ran\n" {
		t.Errorf("%+v", o)
	}
}

func TestThePIDLimitCountsForWhatTheCommandStarts(t *testing.T) {
	t.Parallel()
	if !chosenLayer().kernel {
		t.Skip("processes are only watched here")
	}
	s := newSite(t)
	if o := s.plimsoll("run", "--quiet", "--pids-max", "1", "--", "sh", "-c", "/bin/true; exit 4"); o.code == 0 {
		t.Errorf("%+v", o)
	}
}
