package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNobodyInsideARunSpeaksForThePerson goes through the ways in which a command loses what shows that it is in a run: in each layer
// it is refused to pin all the same, and the person outside, while the run lives, is not.
func TestNobodyInsideARunSpeaksForThePerson(t *testing.T) {
	t.Parallel()
	const wait = "; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -e \"$0\" ] && exit 0; sleep 0.5; done; exit 9"
	ways := []struct {
		name, script string // $E is env -i with what a command needs, $P plimsoll, $0 a file that is made at the end
		may          func() bool
	}{
		{"the first process without an environment", `exec $E sh -c "$P memory pin one; touch $0"`, nil},
		{"a child", `$E $P memory pin one; touch $0`, nil},
		{"an orphan", `($E setsid sh -c "sleep 0.2; $P memory pin one; touch $0" &)` + wait, nil},
		{"an orphan of an orphan", `($E setsid sh -c "(setsid sh -c 'sleep 0.4; $P memory pin one; touch $0' &); sleep 0.1" &)` + wait, nil},
		{"deep below", `i=0; s="$P memory pin one; touch $0"; printf '%s' "$s" > $0.1; while [ $i -lt 80 ]; do i=$((i+1)); printf 'sh %s; true' "$0.$i" > $0.$((i+1)); done; $E sh $0.$i`, nil},
		{"another runtime directory", `$E XDG_RUNTIME_DIR=/nonexistent TMPDIR=/nonexistent $P memory pin one; touch $0`, nil},
		{"other directories, the same state", `env -i PATH="$PATH" HOME=/nonexistent XDG_STATE_HOME=/nonexistent PLIMSOLL_STATE_DIR="$PLIMSOLL_STATE_DIR" $P memory pin one; touch $0`, nil},
		{"variables of two megabytes", `python3 -c '
import os, subprocess, sys
e = {n: os.environ[n] for n in ("PATH", "HOME", "PLIMSOLL_STATE_DIR")}
e.update({"A%d" % i: "x" * 120000 for i in range(17)})
subprocess.run(["sh", "-c", sys.argv[1] + " memory pin one; true"], env=e)' $P; touch $0`, func() bool { _, err := exec.LookPath("python3"); return err == nil }},
		{"a PID namespace", `$E unshare -pf --mount-proc $P memory pin one; touch $0`, canUnshare},
		{"a PID and a control group namespace", `$E unshare -Cpf --mount-proc $P memory pin one; touch $0`, canUnshare},
	}
	for _, layer := range append(layersHere(), "off") {
		for _, way := range ways {
			t.Run(layer+"/"+way.name, func(t *testing.T) {
				t.Parallel()
				if way.may != nil && !way.may() {
					t.Skip("this machine cannot do that")
				}
				s := newSite(t)
				s.env = append(s.env, "P="+s.program(), fmt.Sprintf("E=env -i PATH=%s HOME=%s PLIMSOLL_STATE_DIR=%s", tools+":"+os.Getenv("PATH"), s.state, s.state))
				args := []string{"run", "--quiet", "--layer", layer}
				if layer == "off" {
					args = []string{"run", "--quiet", "--enforcement", "off"}
				}
				o := s.plimsoll(append(args, "--", "sh", "-c", way.script, filepath.Join(s.dir, "done"))...)
				if _, err := os.Stat(filepath.Join(s.dir, "done")); err != nil {
					t.Fatalf("it never came so far: %+v", o)
				}
				contains(t, "the refusal", o.stderr, "this is inside a run, where an agent may be the one who asks", "do it in a shell of your own")
				if pins := s.plimsoll("memory", "pin").stdout; strings.Contains(pins, "one") {
					t.Errorf("it was pinned: %s", pins)
				}
			})
		}
	}
	t.Run("the person", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		run := s.command("run", "--quiet", "--", "sh", "-c", "echo started; exec sleep 60")
		out, err := run.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = run.Process.Kill(); _ = run.Wait() }()
		if _, err := out.Read(make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
		if o := s.plimsoll("memory", "pin", "one"); o.code != 0 {
			t.Errorf("a person outside is refused: %+v", o)
		}
		if o := s.plimsoll("memory", "add", "two"); !strings.Contains(o.stdout, "as said by you") {
			t.Errorf("%+v", o)
		}
	})
}

func canUnshare() bool { return exec.Command("unshare", "-Cpf", "--mount-proc", "true").Run() == nil }
