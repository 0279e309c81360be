//go:build unix

package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
)

// TestExitStatusIsTheCommands holds the table of statuses that scripts rely on.
func TestExitStatusIsTheCommands(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	notExecutable := filepath.Join(s.dir, "data")
	noInterpreter := filepath.Join(s.dir, "script")
	bare := filepath.Join(s.dir, "bare") // without an interpreter line: a shell runs it
	for file, body := range map[string]string{notExecutable: "x", noInterpreter: "#!/no/such/interpreter\n", bare: "exit 5\n"} {
		mode := os.FileMode(0o755)
		if file == notExecutable {
			mode = 0o644
		}
		if err := os.WriteFile(file, []byte(body), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"true"}, 0, ""},
		{[]string{"sh", "-c", "exit 7"}, 7, ""},
		{[]string{"sh", "-c", "exit 125"}, 125, ""},
		{[]string{"sh", "-c", "kill -KILL $$"}, 137, ""},
		{[]string{"sh", "-c", "kill -SEGV $$"}, 139, ""},
		{[]string{"sh", "-c", "kill -USR1 $$"}, 128 + 10, ""},
		{[]string{bare}, 5, ""},
		{nil, 125, "no command given; write it after --"},
		{[]string{""}, 127, "the command's name is empty"},
		{[]string{"/"}, 126, "it is a directory"},
		{[]string{notExecutable}, 126, "chmod +x"},
		{[]string{noInterpreter}, 126, "its interpreter"},
		{[]string{"no-such-command"}, 127, "not found in PATH"},
		{[]string{"./no/such/command"}, 127, "no such file"},
	} {
		for _, layer := range layersHere() {
			o := s.plimsoll(append([]string{"run", "--enforcement", "off", "--layer", layer, "--"}, c.args...)...)
			if o.code != c.code || o.stdout != "" {
				t.Errorf("%s %q: status %d, want %d; stdout %q, stderr %q", layer, c.args, o.code, c.code, o.stdout, o.stderr)
			}
			contains(t, strings.Join(c.args, " "), o.stderr, c.says)
			if c.says == "" && o.stderr != "" {
				t.Errorf("%s %q: stderr %q, want nothing", layer, c.args, o.stderr)
			}
		}
	}
}

// layersHere are the layers that a test can name: the chosen one and those that work everywhere.
func layersHere() []string {
	list := []string{"rlimit", "monitor"}
	if l := chosenLayer(); l.kernel {
		list = append([]string{l.name}, list...)
	}
	return list
}

// TestASignalThatAShellMustSeeEndsUsToo: exiting with 130 would leave the shell's loop running.
func TestASignalThatAShellMustSeeEndsUsToo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, sig := range []string{"INT", "QUIT", "HUP", "TERM"} {
		cmd := s.command("run", "--", "sh", "-c", "kill -"+sig+" $$")
		if o := s.finish(cmd); o.code != -1 {
			t.Errorf("SIG%s: status %d, want death by the signal; %s", sig, o.code, o.stderr)
		}
	}
}

// TestStreamsPassByteForByte: what goes in comes out, and nothing of ours beside it.
func TestStreamsPassByteForByte(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	all := make([]byte, 1<<20)
	for i := range all {
		all[i] = byte(i * 7 >> 3)
	}
	for _, layer := range layersHere() {
		cmd := s.command("run", "--enforcement", "off", "--layer", layer, "--", "sh", "-c", "tee /dev/stderr")
		cmd.Stdin = strings.NewReader(string(all))
		if o := s.finish(cmd); o.stdout != string(all) || o.stderr != string(all) || o.code != 0 {
			t.Errorf("%s: %d bytes on stdout, %d on stderr, status %d", layer, len(o.stdout), len(o.stderr), o.code)
		}
	}
}

// TestEveryKeyOfTheReportIsThere with its type: scripts rely on it.
func TestEveryKeyOfTheReportIsThere(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	file := filepath.Join(s.dir, "report.json")
	count, text, yes, list, object := 0.0, "", true, []any{}, map[string]any{}
	contract := map[string]any{
		"schema": count, "tool": text, "project": text, "command": list, "exit_code": count, "signal": text, "outcome": text,
		"duration_ms": count, "layer": text, "enforcement": object, "enforcement.memory": text, "enforcement.swap": text,
		"enforcement.pids": text, "limit_bytes": count, "reservation_bytes": count, "estimate": object, "estimate.bytes": count,
		"estimate.source": text, "estimate.samples": count, "peak_bytes": count, "peak_anon_bytes": count, "peak_method": text,
		"peak_exact": yes, "oom_kills": count, "killed_children": list, "window": object, "window.requests": count,
		"window.tokens_in": count, "window.limit_tokens": count, "window.compactions": count, "window.repairs": count,
		"window.cut_bytes": count, "window.overflow_recoveries": count, "mcp": object, "mcp.calls": count,
		"mcp.upstream_bytes": count, "mcp.delivered_bytes": count, "mcp.spilled": count, "leftovers": list,
	}
	for name, args := range map[string][]string{
		"done": {"true"}, "failed": {"false"}, "not found": {"no-such-command"},
		"refused": {"--tool", "none", "--enforcement", "required", "--layer", "monitor", "true"},
	} {
		s.plimsoll(append([]string{"run", "--report", file}, args...)...)
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got map[string]any
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for key, want := range contract {
			at := any(got)
			for part := range strings.SplitSeq(key, ".") {
				at = at.(map[string]any)[part]
			}
			same := false
			switch want.(type) {
			case float64:
				_, same = at.(float64)
			case string:
				_, same = at.(string)
			case bool:
				_, same = at.(bool)
			case []any:
				_, same = at.([]any)
			case map[string]any:
				_, same = at.(map[string]any)
			}
			if !same {
				t.Errorf("%s: %s is %T %v, want %T", name, key, at, at, want)
			}
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: the report has mode %v, want 0600; %v", name, info.Mode().Perm(), err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheReportTellsWhatHappened(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r, _ := s.report("--tool", "codex", "--memory-max", "300M", "--pids-max", "77", "--", "sh", "-c", "exit 3")
	if r.Schema != 1 || r.Tool != "codex" || r.Project != "web" || !slices.Equal(r.Command, []string{"sh", "-c", "exit 3"}) {
		t.Errorf("who: %+v", r)
	}
	if r.ExitCode != 3 || r.Outcome != "failed" || r.Signal != "" || r.LimitBytes != 300<<20 || r.PidsLimit != 77 || r.PeakBytes <= 0 {
		t.Errorf("what: %+v", r)
	}
	if r.ReservationBytes != 300<<20 { // codex is expected to need more than it may use
		t.Errorf("reservation %d, want the limit", r.ReservationBytes)
	}
	r, _ = s.report("--", "sh", "-c", "kill -TERM $$")
	if r.ExitCode != 143 || r.Outcome != "signalled" || r.Signal != "SIGTERM" {
		t.Errorf("a signal: %+v", r)
	}
	r, o := s.report("--enforcement", "required", "--layer", "rlimit", "--", "true")
	if r.ExitCode != 125 || o.code != 125 || r.Outcome != "refused" {
		t.Errorf("a refusal: status %d, %+v", o.code, r)
	}
	r, _ = s.report("--", "no-such-command")
	if r.ExitCode != 127 || r.Outcome != "failed" {
		t.Errorf("not found: %+v", r)
	}
}

func TestAReportThatCannotBeWrittenIsToldBeforeTheRun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, file := range []string{filepath.Join(s.dir, "none", "report.json"), s.dir} {
		o := s.plimsoll("run", "--report", file, "--", "touch", "ran")
		if o.code != 125 || strings.Count(o.stderr, file) == 0 || strings.Count(o.stderr, "plimsoll:") != 1 {
			t.Errorf("%s: status %d, %q", file, o.code, o.stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(s.dir, "ran")); err == nil {
		t.Error("it ran nevertheless")
	}
	// A device takes it, and is not replaced by a file.
	if o := s.plimsoll("run", "--report", "/dev/null", "--", "true"); o.code != 0 || o.stderr != weakLayer() {
		t.Errorf("/dev/null: %d, %q", o.code, o.stderr)
	}
	if info, err := os.Stat("/dev/null"); err != nil || info.Mode().IsRegular() {
		t.Errorf("/dev/null is %v, %v", info.Mode(), err)
	}
}

// terminal runs plimsoll with a pseudo-terminal as its controlling terminal and all of its
// streams, and returns what the screen got.
func (s *site) terminal(args ...string) (screen string, code int) {
	s.t.Helper()
	return s.terminalOf(100, args...)
}

func (s *site) terminalOf(columns uint16, args ...string) (screen string, code int) {
	s.t.Helper()
	cmd := s.command(args...)
	cmd.Env = append(slices.Clone(cmd.Env), "TERM=xterm")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: columns})
	if err != nil {
		s.t.Fatal(err)
	}
	defer tty.Close()
	text, _ := io.ReadAll(tty) // ends with EIO when the last holder of the other end is gone
	_ = cmd.Wait()
	return string(text), cmd.ProcessState.ExitCode()
}

func TestAPersonGetsAShortReport(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	screen, code := s.terminal("run", "--", "sh", "-c", "test -t 0 && test -t 1 && test -t 2 && echo inside")
	if code != 0 {
		t.Errorf("status %d", code)
	}
	contains(t, "the screen", screen, "inside\r\n", "plimsoll", "sh in web", "ok", "memory", "estimate", "layer")
	if lines := strings.Count(screen, "\n"); lines > 8 {
		t.Errorf("%d lines are no short report:\n%s", lines, screen)
	}
	if strings.Contains(strings.ReplaceAll(screen, "\r\n", ""), "\n") {
		t.Errorf("a line end without a carriage return: %q", screen)
	}
	screen, _ = s.terminal("run", "--quiet", "--", "echo", "inside")
	if screen != "inside\r\n" {
		t.Errorf("quiet: %q", screen)
	}
	screen, code = s.terminal("run", "--", "sh", "-c", "exit 3")
	contains(t, "the screen", screen, "exit 3")
	if code != 3 {
		t.Errorf("status %d, want 3", code)
	}
}

// Reports, pages, errors, help and setup are as wide as the terminal, and break between words.
func TestWhatAPersonReadsIsWrapped(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, columns := range []uint16{80, 120} {
		for _, args := range [][]string{
			{"run", "--layer", "monitor", "--", "sh", "-c", "exit 3"},
			{"run", "--memory-max", "4GG", "--", "true"},
			{"runs", "last"},
			{"setup", "--yes", "--agents", "none", "--mcp", "no"},
			{"--help", "--all"},
			{"ask", "--help"},
		} {
			screen, _ := s.terminalOf(columns, args...)
			lines, most := 0, 0
			for line := range strings.Lines(ansi.Strip(screen)) {
				line = strings.TrimRight(line, "\r\n")
				wide := ansi.StringWidth(line)
				if lines, most = lines+1, max(most, wide); wide > int(columns) && !strings.Contains(line, t.Name()) { // but for a path
					t.Errorf("%v at %d columns: %q", args, columns, line)
				}
			}
			if most < 50 || lines == 0 {
				t.Errorf("%v at %d columns has %d lines of at most %d: %q", args, columns, lines, most, screen)
			}
		}
	}
}

func TestQuietLeavesErrorsOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if o := s.plimsoll("run", "--layer", "monitor", "--", "true"); !strings.Contains(o.stderr, "only watched") {
		t.Errorf("best effort without the kernel must warn: %q", o.stderr)
	}
	if o := s.plimsoll("run", "--quiet", "--layer", "monitor", "--", "true"); o.stderr != "" {
		t.Errorf("quiet: %q", o.stderr)
	}
	if o := s.plimsoll("run", "--quiet", "--", "no-such-command"); !strings.Contains(o.stderr, "not found") {
		t.Errorf("an error must be said in quiet too: %q", o.stderr)
	}
}

func TestADryRunDecidesAndDoesNotRun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.configure("[tools.codex]\nmax_concurrent = 2\ninitial_estimate = \"600M\"\n")
	d := s.decision("--tool", "codex", "--memory-max", "1G", "--", "touch", "ran")
	if !d.Admitted || d.Tool != "codex" || d.Project != "web" || d.Estimate.Bytes != 600<<20 || d.Estimate.Source != "configured" ||
		d.LimitBytes != 1<<30 || d.Slots.ToolMost != 2 || d.AvailableBytes <= 0 || d.MinFreeBytes <= 0 || len(d.Layers) == 0 {
		t.Errorf("%+v", d)
	}
	o := s.plimsoll("run", "--dry-run", "--tool", "codex", "--", "touch", "ran")
	contains(t, "the text", o.stdout, "codex", "600 MiB, as configured", "kept free", "physical", "swap", "0 of at most 2 of this tool", "would start now")
	if o.code != 0 || o.stderr != "" {
		t.Errorf("status %d, %q", o.code, o.stderr)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "ran")); err == nil {
		t.Error("it ran")
	}
	if files := s.claims(); len(files) != 0 {
		t.Errorf("it claimed: %v", files)
	}
	// The proxy is a decision too.
	if w := s.decision("--proxy", "--", "touch", "ran").Window; !w.Proxy || w.Client != "generic" || w.Mode != "enforce" || len(w.Upstreams) != 3 {
		t.Errorf("%+v", w)
	}
	if w := s.decision("--no-proxy", "--tool", "claude", "--", "touch", "ran").Window; w.Proxy || w.NoProxy != "--no-proxy" {
		t.Errorf("%+v", w)
	}
	if o := s.plimsoll("run", "--dry-run", "--proxy", "--no-proxy", "--", "true"); o.code != 125 || !strings.Contains(o.stderr, "give one of them") {
		t.Errorf("status %d, %q", o.code, o.stderr)
	}
	// What would be refused has the refusal's status.
	s.configure("[tools.codex]\ninitial_estimate = \"1000G\"\nmemory_max = \"2000G\"\n")
	if d := s.decision("--tool", "codex", "--", "true"); d.Admitted || !strings.Contains(d.Refusal, "1000") && !strings.Contains(d.Refusal, "available") {
		t.Errorf("%+v", d)
	}
	if o := s.plimsoll("run", "--dry-run", "--tool", "codex", "--", "true"); o.code != 125 || !strings.Contains(o.stdout, "would be refused") {
		t.Errorf("status %d: %s", o.code, o.stdout)
	}
	if o := s.plimsoll("run", "--tool", "codex", "--", "true"); o.code != 125 || o.stdout != "" {
		t.Errorf("status %d: %q", o.code, o.stdout)
	} else {
		contains(t, "the refusal", o.stderr, "available", "free")
	}
	if o := s.plimsoll("run", "--force", "--tool", "codex", "--", "true"); o.code != 0 || !strings.Contains(o.stderr, "--force") {
		t.Errorf("--force: status %d, %q", o.code, o.stderr)
	}
}

func TestRequiredSaysWhatToDo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	o := s.plimsoll("run", "--enforcement", "required", "--layer", "rlimit", "--", "touch", "ran")
	if o.code != 125 || o.stdout != "" {
		t.Errorf("status %d, %q", o.code, o.stdout)
	}
	contains(t, "the refusal", o.stderr, "rlimit", "enable-linger", "--enforcement best-effort", "plimsoll doctor")
	if _, err := os.Stat(filepath.Join(s.dir, "ran")); err == nil {
		t.Error("it ran")
	}
	if d := s.decision("--enforcement", "required", "--layer", "rlimit", "--", "true"); d.Admitted {
		t.Errorf("a dry run must see that too: %+v", d)
	}
	if o := s.plimsoll("run", "--enforcement", "best-effort", "--layer", "rlimit", "--", "true"); o.code != 0 {
		t.Errorf("best effort: status %d", o.code)
	} else {
		contains(t, "the warning", o.stderr, "per process", "plimsoll doctor")
	}
	// A limit that somebody has asked for and that nobody holds is named too.
	for flag, value := range map[string]string{"--cpus": "1", "--swap-max": "1G"} {
		if o := s.plimsoll("run", "--layer", "rlimit", flag, value, "--", "true"); o.code != 0 || !strings.Contains(o.stderr, "nobody holds "+flag+" (") {
			t.Errorf("%s: status %d, %q", flag, o.code, o.stderr)
		}
	}
	if !chosenLayer().kernel {
		return
	}
	if o := s.plimsoll("run", "--enforcement", "required", "--", "true"); o.code != 0 || o.stderr != "" {
		t.Errorf("with a kernel layer: status %d, %q", o.code, o.stderr)
	}
}
