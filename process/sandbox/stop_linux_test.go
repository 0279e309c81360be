package sandbox_test

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
)

// A stop of the command that is told when a shell has already continued both does not stop the supervisor: nobody would continue it again.
func TestALateStopStopsNobody(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		command := exec.Command("/bin/sleep", "60")
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
		var status syscall.WaitStatus
		if stopped {
			if err := command.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			if _, err := syscall.Wait4(command.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
				t.Fatal(status, err)
			}
		}
		supervisor := exec.Command(os.Args[0], strconv.Itoa(command.Process.Pid))
		supervisor.Env = append(os.Environ(), toolVar+"=stopwith")
		supervisor.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a job of a shell
		if err := supervisor.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := syscall.Wait4(supervisor.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || status.Stopped() != stopped {
			t.Errorf("the command stopped: %t, the supervisor: %t, %v", stopped, status.Stopped(), err)
		}
		if status.Stopped() {
			_ = supervisor.Process.Signal(syscall.SIGCONT)
			if _, err := syscall.Wait4(supervisor.Process.Pid, &status, 0, nil); err != nil || status.ExitStatus() != 0 {
				t.Errorf("continued, it ended with %v, %v", status, err)
			}
		}
	}
}
