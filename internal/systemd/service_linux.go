package systemd

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Service holds what a service manager passed to this process.
type Service struct {
	notify   string        // path of the datagram socket, "@" first for an abstract one; "" is none
	watchdog time.Duration // how long it waits for a sign of life; 0 is for ever
	passed   []*os.File
	names    []string // of passed, as FileDescriptorName= has them
}

// variables are those of the protocols, which are for this process and for no child of it.
var variables = []string{
	"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_PID", "LISTEN_PIDFDID", "LISTEN_FDS", "LISTEN_FDNAMES", "CREDENTIALS_DIRECTORY",
}

// Take reads what the service manager left in the environment and removes it there; the credentials that are named
// like variables take its place. Nil is a process that no service manager started. An error names the
// variable or file that makes no sense; the variables are gone then too.
func Take() (*Service, error) {
	env := map[string]string{}
	for _, name := range variables {
		if value, set := os.LookupEnv(name); set {
			env[name] = value
			if err := os.Unsetenv(name); err != nil {
				return nil, err
			}
		}
	}
	if len(env) == 0 {
		return nil, nil
	}
	s := new(Service)
	var err, e error
	s.notify, err = notifyAddress(env["NOTIFY_SOCKET"])
	s.watchdog, e = watchdog(env["WATCHDOG_USEC"], env["WATCHDOG_PID"], os.Getpid())
	err = errors.Join(err, e)
	n, e := passed(env["LISTEN_FDS"], env["LISTEN_PID"], os.Getpid())
	err = errors.Join(err, e)
	s.passed, s.names = take(n, env["LISTEN_FDNAMES"])
	if dir := env["CREDENTIALS_DIRECTORY"]; dir != "" {
		err = errors.Join(err, credentials(dir, os.Setenv))
	}
	if err != nil {
		return nil, errors.Join(err, s.closePassed())
	}
	return s, nil
}

// notifyAddress returns NOTIFY_SOCKET where it can be used: a path, or "@" and an abstract name.
func notifyAddress(value string) (string, error) {
	// sun_path of unix(7) has 108 bytes, the last of them 0.
	if value == "" || (value[0] == '/' || value[0] == '@') && len(value) > 1 && len(value) < 108 {
		return value, nil
	}
	return "", fmt.Errorf("NOTIFY_SOCKET=%q is neither a path nor an abstract socket (@NAME) of at most 107 bytes; unset it, or leave it to the service manager", value)
}

// watchdog returns WATCHDOG_USEC if it is for the process pid; WATCHDOG_PID may be absent.
func watchdog(usec, forPID string, pid int) (time.Duration, error) {
	if usec == "" || forPID != "" && forPID != strconv.Itoa(pid) {
		return 0, nil
	}
	// A day is more than anybody waits, and nothing overflows.
	n, err := strconv.ParseInt(usec, 10, 64)
	if err != nil || n <= 0 || n > int64(24*time.Hour/time.Microsecond) {
		return 0, fmt.Errorf("WATCHDOG_USEC=%q is no number of microseconds between 1 and a day; set WatchdogSec= in the unit", usec)
	}
	return time.Duration(n) * time.Microsecond, nil
}

// mostPassed bounds how many files are looked at; one is needed.
const mostPassed = 64

// passed returns the number of files passed to the process pid, from descriptor 3 on.
func passed(fds, forPID string, pid int) (int, error) {
	if fds == "" || forPID != strconv.Itoa(pid) { // not ours: they were passed to a parent
		return 0, nil
	}
	n, err := strconv.Atoi(fds)
	if err != nil || n < 0 || n > mostPassed {
		return 0, fmt.Errorf("LISTEN_FDS=%q is no number between 0 and %d; one socket is used", fds, mostPassed)
	}
	return n, nil
}

// splitNames gives n files their names; a file without one is called "unknown", as sd_listen_fds_with_names(3) has it.
func splitNames(text string, n int) []string {
	given := strings.SplitN(text, ":", n+1)
	names := make([]string, n)
	for i := range names {
		names[i] = "unknown"
		if i < len(given) && given[i] != "" {
			names[i] = given[i]
		}
	}
	return names
}
