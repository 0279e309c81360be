package systemd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/lazy"
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

// Take reads what the service manager has set in the environment, and removes those variables. Instead it sets a variable for each credential
// that is named like one. It returns nil, nil if no service manager started the process. The error names the variable or file that is wrong;
// the variables are removed then too.
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
	n, e := passedFiles(env["LISTEN_FDS"], env["LISTEN_PID"], os.Getpid())
	err = errors.Join(err, e)
	s.passed, s.names = takeFiles(n, env["LISTEN_FDNAMES"])
	if dir := env["CREDENTIALS_DIRECTORY"]; dir != "" {
		err = errors.Join(err, setCredentials(dir, os.Setenv))
	}
	if err != nil {
		return nil, errors.Join(err, s.closePassed())
	}
	return s, nil
}

// notifyAddress returns NOTIFY_SOCKET where it can be used: a path, or "@" and an abstract name, or "". Any other is an error.
func notifyAddress(value string) (string, error) {
	// sun_path of unix(7) has 108 bytes, the last of them 0.
	if value == "" || (value[0] == '/' || value[0] == '@') && len(value) > 1 && len(value) < 108 {
		return value, nil
	}
	return "", fmt.Errorf("NOTIFY_SOCKET=%q is neither a path nor an abstract socket (@NAME) of at most 107 bytes; unset it, or leave it to the service manager", value)
}

// watchdog returns WATCHDOG_USEC if it is for the process pid, else 0; WATCHDOG_PID may be absent.
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

// passedFiles returns the number of files passed to the process pid, from descriptor 3 on; 0 unless LISTEN_PID names it.
func passedFiles(fds, forPID string, pid int) (int, error) {
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

// variable matches the name of a credential that takes the place of a variable of the environment.
var variable = lazy.Regexp(`^[A-Z][A-Z0-9_]*$`)

// Bounds of what is read: keys and tokens are short. systemd itself takes 1 MiB for all credentials of a unit.
const (
	maxCredential  = 64 << 10 // bytes
	maxCredentials = 256
)

// setCredentials sets a variable for each file in dir that is named like one, as in LoadCredential=OPENAI_API_KEY:FILE; other files are ignored.
// White space at the end of a file is left out. The first error ends it. Errors never repeat what a file holds.
func setCredentials(dir string, set func(name, value string) error) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("CREDENTIALS_DIRECTORY: %w", err)
	}
	defer root.Close()
	d, err := root.Open(".")
	if err != nil {
		return fmt.Errorf("CREDENTIALS_DIRECTORY: %w", err)
	}
	names, err := d.Readdirnames(maxCredentials + 1)
	_ = d.Close()
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("CREDENTIALS_DIRECTORY: %w", err)
	}
	if len(names) > maxCredentials {
		return fmt.Errorf("CREDENTIALS_DIRECTORY: %s holds more than %d files; give the service those that it needs", dir, maxCredentials)
	}
	for _, name := range names {
		if !variable().MatchString(name) {
			continue
		}
		value, err := readCredential(root, name)
		if err == nil {
			err = set(name, value)
		}
		if err != nil {
			return fmt.Errorf("the credential %s: %w; correct the file that LoadCredential=%s:… names", name, err, name)
		}
	}
	return nil
}

// readCredential returns the content of a file without white space at its end. One that is empty, too large or has a zero byte is an error.
func readCredential(root *os.Root, name string) (string, error) {
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCredential+1))
	switch {
	case err != nil:
		return "", err
	case len(text) > maxCredential:
		return "", fmt.Errorf("it is larger than %d bytes", maxCredential)
	case bytes.IndexByte(text, 0) >= 0:
		return "", errors.New("it holds a zero byte, which no variable can")
	}
	value := strings.TrimRight(string(text), " \t\r\n")
	if value == "" {
		return "", errors.New("it is empty")
	}
	return value, nil
}

// Ready notifies the service manager that requests are taken. status is one line for `systemctl status`.
func (s *Service) Ready(status string) error {
	return s.send("READY=1\n" + statusLine(status))
}

// Stopping notifies the service manager that the end has begun.
func (s *Service) Stopping(status string) error {
	return s.send("STOPPING=1\n" + statusLine(status))
}

// maxStatus bounds what is shown, in bytes; systemctl shows one line.
const maxStatus = 512

// statusLine returns a text as a status for the service manager, in one line and of at most maxStatus bytes.
func statusLine(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), maxStatus)], "")
	return "STATUS=" + strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f { // a line break would begin another assignment
			return ' '
		}
		return r
	}, text)
}

// patience limits the wait for a service manager that does not read.
const patience = time.Second

// send sends one datagram to the service manager; without one it does nothing.
func (s *Service) send(state string) error {
	if s == nil || s.notify == "" {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: s.notify, Net: "unixgram"})
	if err == nil {
		defer conn.Close()
		if err = conn.SetWriteDeadline(time.Now().Add(patience)); err == nil {
			_, err = conn.Write([]byte(state))
		}
	}
	if err != nil {
		return fmt.Errorf("tell the service manager (NOTIFY_SOCKET=%s): %w", s.notify, err)
	}
	return nil
}

// Watch gives the watchdog a sign of life twice in each of its periods, until ctx ends, and only when alive returns nil within a quarter of the
// period. It returns at once when there is no watchdog. warn is called with the first of several failures in a row.
func (s *Service) Watch(ctx context.Context, alive func(context.Context) error, warn func(string)) {
	if s == nil || s.watchdog == 0 || s.notify == "" {
		return
	}
	tick := time.NewTicker(s.watchdog / 2)
	defer tick.Stop()
	failed := false
	for {
		asked, cancel := context.WithTimeout(ctx, s.watchdog/4)
		err := alive(asked)
		cancel()
		if err == nil {
			err = s.send("WATCHDOG=1")
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failed {
			warn(fmt.Sprintf("the watchdog of the service manager gets no sign of life: %v; it restarts the service %s after the last one", err, s.watchdog))
		}
		failed = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// firstPassed is SD_LISTEN_FDS_START.
const firstPassed = 3

// SocketName is the FileDescriptorName= of the socket to take where several were passed.
const SocketName = "plimsoll"

// takeFiles returns the n file descriptors that were passed as files, with their names, and makes sure that no child inherits them.
func takeFiles(n int, names string) ([]*os.File, []string) {
	files := make([]*os.File, n)
	named := splitNames(names, n)
	for i := range files {
		unix.CloseOnExec(firstPassed + i)
		files[i] = os.NewFile(uintptr(firstPassed+i), named[i])
	}
	return files, named
}

// Listener returns the socket that was passed, nil when there is none. Of several it is the one that is called [SocketName]. It is
// an error when it is not a TCP socket that listens. It is called once: the others are closed.
func (s *Service) Listener() (net.Listener, error) {
	if s == nil || len(s.passed) == 0 {
		return nil, nil
	}
	defer func() { _ = s.closePassed() }()
	at := 0
	if len(s.passed) > 1 {
		at = slices.Index(s.names, SocketName)
		if at < 0 || slices.Contains(s.names[at+1:], SocketName) {
			return nil, fmt.Errorf("the service manager passed %d sockets (%s) and one is used; leave one ListenStream=, or call one FileDescriptorName=%s",
				len(s.passed), strings.Join(s.names, ", "), SocketName)
		}
	}
	ln, err := listener(s.passed[at])
	if err != nil {
		return nil, fmt.Errorf("the socket %q that the service manager passed %w; in the socket unit use ListenStream=127.0.0.1:4620 and Accept=no", s.names[at], err)
	}
	return ln, nil
}

// listener makes a listener of a copy of f.
func listener(f *os.File) (net.Listener, error) {
	fd := int(f.Fd())
	if listens, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err != nil {
		return nil, fmt.Errorf("is no socket (%w)", err)
	} else if listens == 0 {
		return nil, errors.New("does not listen")
	}
	ln, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("cannot be used (%w)", err)
	}
	if _, tcp := ln.(*net.TCPListener); !tcp {
		return nil, errors.Join(fmt.Errorf("is of the kind %s, not tcp", ln.Addr().Network()), ln.Close())
	}
	return ln, nil
}

// closePassed closes the files that were passed.
func (s *Service) closePassed() error {
	var err error
	for _, f := range s.passed {
		err = errors.Join(err, f.Close())
	}
	s.passed = nil
	return err
}
