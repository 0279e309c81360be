package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// editorGrace is how soon nothing may be left of a run whose editor has died.
const editorGrace = 8 * time.Second

// withEditor starts tally under plimsoll as an editor starts an agent. It returns the editor, the pid that the editor knows, and
// the file in which tally tells what it sees.
func (w *world) withEditor(m mode) (editor *exec.Cmd, agent int, file string) {
	w.t.Helper()
	pid, file := filepath.Join(w.home, "pid"), filepath.Join(w.home, "tally")
	editor = w.callerOf(testtool, pid, m.argv(nil, testtool, "tally", file))
	w.told(file, "group")
	return editor, w.agentOf(pid), file
}

// agentOf is the process that an editor has started, by what it wrote.
func (w *world) agentOf(file string) (pid int) {
	w.t.Helper()
	_, _ = fmt.Sscanf(w.told(file, "agent"), "agent %d", &pid)
	return pid
}

// callerOf starts an editor, or what passes for one, from the program at path. It starts argv and writes the pid of that to a file.
func (w *world) callerOf(path, pid string, argv []string, prepare ...func(*exec.Cmd)) *exec.Cmd {
	w.t.Helper()
	editor := exec.Command(path, append([]string{"editor", pid}, argv...)...)
	editor.Dir, editor.Env = w.work, w.environment()
	for _, p := range prepare {
		p(editor)
	}
	editor.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := editor.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = editor.Process.Kill()
		_ = editor.Wait()
	})
	return editor
}

// told waits for a line of file that begins with word, and returns all of the file.
func (w *world) told(file, word string) string {
	w.t.Helper()
	var text []byte
	w.until(word+" in "+file, func() bool {
		text, _ = os.ReadFile(file)
		return strings.Contains("\n"+string(text), "\n"+word+" ") && strings.HasSuffix(string(text), "\n")
	})
	return string(text)
}

func (w *world) endsWithin(most time.Duration) {
	w.t.Helper()
	began := time.Now()
	if !wait.Reached(4*most, func() bool { return len(w.processes()) == 0 }) { // the rest of the package needs its time
		w.nothingLeft()
		return
	}
	if took := time.Since(began); took > most {
		w.t.Errorf("all had ended after %v, want %v", took.Round(time.Millisecond), most)
	}
}

// An editor that is killed, kills its agent's group or its agent's process leaves nothing.
func TestRunEndsWithItsEditor(t *testing.T) {
	t.Parallel()
	everyLayer(t, func(t *testing.T, m mode) {
		for name, end := range map[string]func(editor, agent int){
			"editor killed": func(editor, _ int) { _ = syscall.Kill(editor, syscall.SIGKILL) },
			"group killed":  func(_, agent int) { _ = syscall.Kill(-agent, syscall.SIGKILL) },
			"agent killed":  func(_, agent int) { _ = syscall.Kill(agent, syscall.SIGKILL) },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				editor, agent, file := w.withEditor(m)
				if at := w.told(file, "group"); !strings.Contains(at, fmt.Sprintf("group %d session %d\n", agent, agent)) {
					t.Errorf("the command is not in its caller's group %d: %s", agent, at)
				}
				end(editor.Process.Pid, agent)
				go func() { _ = editor.Wait() }()
				if name != "editor killed" {
					w.until("the agent's end", func() bool { return syscall.Kill(agent, 0) != nil || zombie(agent) })
					_ = syscall.Kill(editor.Process.Pid, syscall.SIGKILL)
				}
				w.endsWithin(editorGrace)
			})
		}
	})
}

func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// A signal reaches the command once, whether it was for the group or for plimsoll.
func TestSignalOfTheGroupComesOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, agent, file := w.withEditor(layers(t)[0])
	for i, to := range []int{-agent, agent, -agent} {
		if err := syscall.Kill(to, syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if got := strings.Count(w.told(file, "signal"), fmt.Sprintln("signal", int(syscall.SIGUSR1))); got != i+1 {
			t.Errorf("kill %d: the command had %d signals in all, want %d", to, got, i+1)
		}
	}
}

// Either alone ends nothing: the end of standard input while the caller lives, and a caller's death before that.
func TestRunOutlivesInputOrCaller(t *testing.T) {
	t.Parallel()
	t.Run("input first", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		editor, agent, file := w.withEditor(layers(t)[0])
		_ = editor.Process.Signal(syscall.SIGUSR1)
		time.Sleep(3 * time.Second)
		_ = editor.Process.Kill()
		_ = editor.Wait()
		w.livesOn(agent, file)
	})
	t.Run("caller alone", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		fifo := filepath.Join(w.home, "fifo")
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		editor, agent, file := w.withEditor(layers(t)[0])
		held, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/0", agent), os.O_WRONLY|syscall.O_NONBLOCK, 0) // another end to write to
		if err != nil {
			t.Fatal(err)
		}
		_ = editor.Process.Kill()
		_ = editor.Wait()
		w.livesOn(agent, file)
		_ = held.Close()
		w.endsWithin(editorGrace)
	})
}

// livesOn fails the test when the run ends or is asked to.
func (w *world) livesOn(agent int, file string) {
	w.t.Helper()
	time.Sleep(3 * time.Second)
	if err := syscall.Kill(agent, 0); err != nil || zombie(agent) {
		w.t.Errorf("plimsoll run has ended: %v", err)
	}
	if text, _ := os.ReadFile(file); strings.Contains(string(text), "signal") {
		w.t.Errorf("the command was asked to end: %s", text)
	}
}

// What is piped into a run is no editor: it ends when the command does.
func TestPipelineIsNoEditor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	script := fmt.Sprintf("echo hello | %s run --quiet -- sh -c 'cat; sleep 2; echo done' >out 2>&1 &", plimsoll)
	if got := w.run(nil, "sh", "-c", script); got.status != 0 {
		t.Fatal(got)
	}
	w.until("the end of the pipeline", func() bool {
		out, _ := os.ReadFile(filepath.Join(w.work, "out"))
		return string(out) == "hello\ndone\n"
	})
	if got := w.run(nil, "sh", "-c", fmt.Sprintf("echo hello | %s run --quiet -- cat", plimsoll)); got.stdout != "hello\n" || got.status != 0 {
		t.Errorf("%+v", got)
	}
}

// These mean a run to be on its own: the command has a session, and lives on when all around it has ended.
func TestRunsWithoutEditorHaveTheirSession(t *testing.T) {
	t.Parallel()
	run := func(before string) string {
		return before + plimsoll + ` run --quiet -- ` + testtool + ` tally "$FILE"`
	}
	for name, script := range map[string]string{
		"nohup":     run("exec nohup ") + " >nohup.out 2>&1",
		"setsid":    "exec 0<in; " + run("setsid ") + " &",
		"dev/null":  run("") + " </dev/null &",
		"script":    run("") + " & wait",    // as in CI: the runner holds the input of the script
		"cron":      "true | " + run(""),    // its input has ended
		"pipeline":  "cat in | " + run(""),  // its input is open
		"init":      "(" + run("") + " &) ", // its parent has ended
		"no shells": run("exec env ") + " <in",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			file, in := filepath.Join(w.home, "tally"), filepath.Join(w.work, "in")
			if err := syscall.Mkfifo(in, 0o600); err != nil {
				t.Fatal(err)
			}
			held, err := os.OpenFile(in, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer held.Close()
			body := filepath.Join(w.work, "script")
			testfile.Write(t, body, script+"\n")
			c := exec.Command("bash", body)
			c.Dir, c.Env = w.work, w.environment("FILE="+file)
			c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			pipe, err := c.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			var group, session int
			_, _ = fmt.Sscanf(w.told(file, "group"), "group %d session %d", &group, &session)
			if group != session || group == c.Process.Pid {
				t.Errorf("the command is in group %d of session %d, and was started in session %d: it has none of its own", group, session, c.Process.Pid)
			}
			_ = c.Process.Kill()
			_ = c.Wait()
			_ = pipe.Close()
			time.Sleep(2 * time.Second)
			if text := w.told(file, "group"); strings.Contains(text, "signal") {
				t.Errorf("it was asked to end: %s", text)
			}
			if name != "nohup" && name != "no shells" && syscall.Kill(group, 0) != nil { // exec: these were killed themselves
				t.Error("it has ended")
			}
		})
	}
}

// A connection of ssh may break, and what it started goes on.
func TestCommandOfSSHHasItsSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := testfile.Read(t, testtool)
	server := filepath.Join(w.home, "sshd-session")
	if err := os.WriteFile(server, body, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(w.home, "tally")
	sshd := w.callerOf(server, filepath.Join(w.home, "pid"), layers(t)[0].argv(nil, testtool, "tally", file))
	var group, session, run int
	_, _ = fmt.Sscanf(w.told(file, "group"), "group %d session %d", &group, &session)
	_, _ = fmt.Sscanf(w.told(filepath.Join(w.home, "pid"), "agent"), "agent %d", &run)
	if group != session || group == run {
		t.Errorf("the command is in group %d of session %d: it has none of its own", group, session)
	}
	_ = sshd.Process.Kill()
	_ = sshd.Wait()
	w.livesOn(run, file)
}
