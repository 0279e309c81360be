package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/run"
	"github.com/plimsoll/plimsoll/internal/app/watch/top"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/journal"
)

// chosenLayer asks doctor, once, which layer a run gets here.
var chosenLayer = sync.OnceValue(func() (c struct {
	name   string
	kernel bool
	memory string // how it holds memory, as doctor says it
},
) {
	state, err := os.MkdirTemp("", "plimsoll-doctor-")
	if err != nil {
		return c
	}
	defer os.RemoveAll(state)
	cmd := exec.Command(filepath.Join(tools, "plimsoll"), "doctor", "--json")
	cmd.Env = append(os.Environ(), "PLIMSOLL_STATE_DIR="+state, "PLIMSOLL_CONFIG="+filepath.Join(state, "none.toml"))
	out, err := cmd.Output()
	var d run.Doctor
	if err != nil || json.Unmarshal(out, &d) != nil {
		return c
	}
	for _, l := range d.Layers {
		if l.Name == d.Chosen {
			c.name, c.kernel, c.memory = string(l.Name), l.Memory == "kernel", string(l.Memory)
		}
	}
	return c
})

func needsKernel(t *testing.T) {
	t.Helper()
	if !chosenLayer().kernel {
		t.Skip("no layer of this host lets the kernel hold memory")
	}
}

// weakLayer is all that a run without --quiet says of itself here: nothing where the kernel holds memory, else that it does not.
func weakLayer() string {
	l := chosenLayer()
	switch {
	case l.kernel:
		return ""
	case l.memory == "process":
		return "plimsoll: memory is limited per process here, not held by the kernel (layer " + l.name + "); plimsoll doctor says why\n"
	}
	return "plimsoll: memory is only watched here, not held by the kernel (layer " + l.name + "); plimsoll doctor says why\n"
}

// site is a host of its own for a test: state, configuration and project.
type site struct {
	t     testing.TB
	state string
	dir   string // the project, and the working directory
	env   []string
	wrap  []string // a command line in front of plimsoll
	older string   // the older program that this site runs; "" is the one that was built
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{t: t, state: t.TempDir(), dir: filepath.Join(t.TempDir(), "web")}
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.env = []string{
		"PATH=" + tools + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + s.state, "TMPDIR=" + os.TempDir(),
		"PLIMSOLL_STATE_DIR=" + s.state, "PLIMSOLL_CONFIG=" + filepath.Join(s.state, "config.toml"),
	}
	s.configure("")
	return s
}

// configure writes the user's configuration file.
func (s *site) configure(text string) {
	s.t.Helper()
	testfile.Write(s.t, filepath.Join(s.state, "config.toml"), text)
}

// program is the file that the site runs.
func (s *site) program() string {
	if s.older != "" {
		return s.older
	}
	return filepath.Join(tools, "plimsoll")
}

// command is plimsoll with these arguments, not started.
func (s *site) command(args ...string) *exec.Cmd {
	line := append(slices.Clone(s.wrap), s.program())
	line = append(line, args...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

// outcome is how a command of the test ended.
type outcome struct {
	stdout, stderr string
	code           int    // -1 when a signal ended plimsoll itself
	how            string // the same in words, the signal's name included
}

func (s *site) plimsoll(args ...string) outcome {
	s.t.Helper()
	return s.finish(s.command(args...))
}

func (s *site) finish(cmd *exec.Cmd) outcome {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &stdout
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &stderr
	}
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		s.t.Fatal(err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), cmd.ProcessState.String()}
}

// report runs a command and returns its report too.
func (s *site) report(args ...string) (journal.Report, outcome) {
	s.t.Helper()
	file := filepath.Join(s.t.(interface{ TempDir() string }).TempDir(), "report.json")
	o := s.plimsoll(append([]string{"run", "--report", file}, args...)...)
	body, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatalf("no report: %v; %s", err, o.stderr)
	}
	var r journal.Report
	if err := json.Unmarshal(body, &r); err != nil {
		s.t.Fatalf("%v in %s", err, body)
	}
	return r, o
}

// decision is a dry run's.
func (s *site) decision(args ...string) run.Decision {
	s.t.Helper()
	o := s.plimsoll(append([]string{"run", "--dry-run", "--json"}, args...)...)
	var d run.Decision
	if err := json.Unmarshal([]byte(o.stdout), &d); err != nil {
		s.t.Fatalf("%v in %q; %s", err, o.stdout, o.stderr)
	}
	return d
}

// claims lists the files of the ledger's claims.
func (s *site) claims() []string {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.state, "run", "ledger", "*", "claims", "*"))
	if err != nil {
		s.t.Fatal(err)
	}
	return files
}

// live is `plimsoll top --once --json` without the runs that have ended.
func (s *site) live() top.Snapshot {
	s.t.Helper()
	return s.liveIn(s.plimsoll("top", "--once", "--json"))
}

func (s *site) liveIn(o outcome) (snap top.Snapshot) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(o.stdout), &snap); err != nil {
		s.t.Fatalf("%v in %q; %s", err, o.stdout, o.stderr)
	}
	for i := len(snap.Runs) - 1; i >= 0; i-- {
		if !snap.Runs[i].Live() {
			snap.Runs = slices.Delete(snap.Runs, i, i+1)
		}
	}
	return snap
}

// summary is the history of one tool.
func (s *site) summary(tool string) app.Stat {
	s.t.Helper()
	o := s.plimsoll("stats", "--json")
	var list []app.Stat
	if err := json.Unmarshal([]byte(o.stdout), &list); err != nil {
		s.t.Fatalf("%v in %q; %s", err, o.stdout, o.stderr)
	}
	for _, l := range list {
		if l.Tool == tool {
			return l
		}
	}
	return app.Stat{}
}

// until waits for something that another process does; it fails after a while.

func contains(t testing.TB, where, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%s does not say %q:\n%s", where, want, text)
		}
	}
}

func pidOf(cmd *exec.Cmd) string { return strconv.Itoa(cmd.Process.Pid) }

// held gives a command a standard input that ends when the test closes it or is over; unlike
// StdinPipe's it does not end with the command, whose children may outlive it.
func held(t testing.TB, cmd *exec.Cmd) (in *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = r
	t.Cleanup(func() { r.Close(); w.Close() })
	return w
}
