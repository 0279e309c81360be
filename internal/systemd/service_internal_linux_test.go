package systemd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// childName is the variable by which this test is its own child: what a daemon does that was started by a service manager.
const childName = "PLIMSOLL_TEST_SYSTEMD_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childName) != "" {
		if err := child(); err != nil {
			fmt.Println("error:", err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child says what it was given and what its own children get, and answers one connection.
func child() error {
	s, err := Take()
	if err != nil {
		return err
	}
	env, err := exec.Command("env").Output()
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(env)) {
		name, _, _ := strings.Cut(line, "=")
		for _, v := range variables {
			if name == v {
				fmt.Println("inherited", name)
			}
		}
	}
	// The status is that of the shell's own descriptors, which come and go.
	open, _ := exec.Command("sh", "-c", "readlink /proc/$$/fd/*").Output()
	if strings.Contains(string(open), "socket:") {
		fmt.Println("inherited a socket")
	}
	fmt.Printf("key %q\n", os.Getenv("SOME_KEY"))
	ln, err := s.Listener()
	if err != nil {
		return err
	}
	if err := s.Ready("at\nREADY=0"); err != nil {
		return err
	}
	if ln == nil {
		fmt.Println("no socket")
		return nil
	}
	conn, err := ln.Accept()
	if err != nil {
		return err
	}
	fmt.Fprintln(conn, "hello")
	return errors.Join(conn.Close(), s.Stopping("bye"))
}

// start starts the child as a service manager does: LISTEN_PID is its own id, which only a shell in its place can know.
func start(t *testing.T, files []*os.File, env ...string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", `export LISTEN_PID=$$; exec "$0"`, os.Args[0])
	cmd.Env = append([]string{childName + "=1", "PATH=" + os.Getenv("PATH")}, env...)
	cmd.ExtraFiles = files
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

func file(t *testing.T, ln interface{ File() (*os.File, error) }) *os.File {
	t.Helper()
	f, err := ln.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func listenTCP(t *testing.T) *net.TCPListener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln.(*net.TCPListener)
}

// manager is the other end of NOTIFY_SOCKET.
func manager(t *testing.T, name string) *net.UnixConn {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func receive(t *testing.T, conn *net.UnixConn) string {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4096)
	n, err := conn.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

func TestSocketReadinessAndCredentialsReachTheServiceAndNoChild(t *testing.T) {
	for _, address := range []string{filepath.Join(t.TempDir(), "n"), fmt.Sprintf("@plimsoll-test-%d", os.Getpid())} {
		conn := manager(t, address)
		ln := listenTCP(t)
		got := make(chan string, 1)
		go func() {
			c, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				got <- err.Error()
				return
			}
			defer c.Close()
			line, _ := bufio.NewReader(c).ReadString('\n')
			got <- line
		}()
		keys := t.TempDir()
		for name, text := range map[string]string{"SOME_KEY": "secret \n", "tls.key": "left alone"} {
			testfile.Write(t, filepath.Join(keys, name), text)
		}
		out := start(t, []*os.File{file(t, ln)}, "LISTEN_FDS=1", "NOTIFY_SOCKET="+address, "WATCHDOG_USEC=30000000", "CREDENTIALS_DIRECTORY="+keys)
		if want := "key \"secret\"\n"; out != want {
			t.Errorf("the child says %q, not %q", out, want)
		}
		if line := <-got; line != "hello\n" {
			t.Errorf("over the socket: %q", line)
		}
		if m := receive(t, conn); m != "READY=1\nSTATUS=at READY=0" {
			t.Errorf("first %q", m)
		}
		if m := receive(t, conn); m != "STOPPING=1\nSTATUS=bye" {
			t.Errorf("last %q", m)
		}
	}
}

func TestWhichSocketIsTaken(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	unix, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "u"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close()
	tcp := listenTCP(t)
	connected, err := net.Dial("tcp", tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connected.Close()
	for name, c := range map[string]struct {
		files []*os.File
		names string
		want  string
	}{
		"none":         {nil, "", "no socket"},
		"no socket":    {[]*os.File{null}, "", "is no socket"},
		"Unix":         {[]*os.File{file(t, unix)}, "u", `"u" that the service manager passed is of the kind unix, not tcp`},
		"Accept=yes":   {[]*os.File{file(t, connected.(*net.TCPConn))}, "c", "does not listen"},
		"two, unnamed": {[]*os.File{file(t, tcp), null}, "a", "passed 2 sockets (a, unknown) and one is used"},
		"two alike":    {[]*os.File{file(t, tcp), null}, "plimsoll:plimsoll", "and one is used"},
		"two, named":   {[]*os.File{file(t, tcp), null}, "other:plimsoll", `"plimsoll" that the service manager passed is no socket`},
	} {
		out := start(t, c.files, fmt.Sprintf("LISTEN_FDS=%d", len(c.files)), "LISTEN_FDNAMES="+c.names)
		if !strings.Contains(out, c.want) {
			t.Errorf("%s: %q is not in %q", name, c.want, out)
		}
	}
}

// The watchdog hears of life only while there is some, and a failure is told once.
func TestWatchdogHearsOnlyOfLife(t *testing.T) {
	address := filepath.Join(t.TempDir(), "n")
	conn := manager(t, address)
	s := &Service{notify: address, watchdog: 40 * time.Millisecond}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := make(chan struct{})
	answers := make(chan error)
	var warned []string
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Watch(ctx, func(context.Context) error {
			select {
			case asked <- struct{}{}:
				return <-answers
			case <-ctx.Done():
				return ctx.Err()
			}
		}, func(text string) { warned = append(warned, text) })
	}()
	for range 2 {
		<-asked
		answers <- nil
		if m := receive(t, conn); m != "WATCHDOG=1" {
			t.Errorf("alive: %q", m)
		}
	}
	for range 3 {
		<-asked
		answers <- errors.New("nobody answers")
	}
	<-asked // what was sent was sent before this
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 100)); err == nil {
		t.Errorf("not alive: %d bytes were sent", n)
	}
	answers <- nil
	if m := receive(t, conn); m != "WATCHDOG=1" {
		t.Errorf("alive again: %q", m)
	}
	cancel()
	<-ended
	if len(warned) != 1 || !strings.Contains(warned[0], "nobody answers") {
		t.Errorf("warnings: %q", warned)
	}
	(*Service)(nil).Watch(t.Context(), nil, nil) // returns
}

func TestWhatMakesNoSenseIsRefused(t *testing.T) {
	keys := t.TempDir()
	testfile.Write(t, filepath.Join(keys, "EMPTY_KEY"), "\n")
	large := t.TempDir()
	testfile.Write(t, filepath.Join(large, "LARGE_KEY"), strings.Repeat("s3cret", maxCredential/6+1))
	outside := t.TempDir()
	if err := os.Symlink("/etc/passwd", filepath.Join(outside, "A_LINK")); err != nil {
		t.Fatal(err)
	}
	for env, want := range map[string]string{
		"NOTIFY_SOCKET=vsock:2:1":                         "is neither a path nor an abstract socket",
		"NOTIFY_SOCKET=/" + strings.Repeat("x", 107):      "at most 107 bytes",
		"NOTIFY_SOCKET=/nobody/there":                     "NOTIFY_SOCKET=/nobody/there",
		"WATCHDOG_USEC=-1":                                `WATCHDOG_USEC="-1" is no number`,
		"WATCHDOG_USEC=99999999999999999":                 "WatchdogSec=",
		"LISTEN_FDS=65":                                   `LISTEN_FDS="65" is no number between 0 and 64`,
		"LISTEN_FDS=x":                                    `LISTEN_FDS="x"`,
		"CREDENTIALS_DIRECTORY=" + keys:                   "the credential EMPTY_KEY: it is empty",
		"CREDENTIALS_DIRECTORY=" + large:                  "the credential LARGE_KEY: it is larger than 65536 bytes",
		"CREDENTIALS_DIRECTORY=" + outside:                "the credential A_LINK",
		"CREDENTIALS_DIRECTORY=" + keys + "/nothing/here": "CREDENTIALS_DIRECTORY",
	} {
		out := start(t, nil, env)
		if !strings.Contains(out, "error: ") || !strings.Contains(out, want) || strings.Contains(out, "s3cret") {
			t.Errorf("%.60s: %q is not in %.300q", env, want, out)
		}
	}
}

// What was meant for a parent is left alone, and gone all the same.
func TestVariablesOfAnotherProcess(t *testing.T) {
	if n, err := passedFiles("3", "1", 2); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if d, err := watchdog("1000", "1", 2); d != 0 || err != nil {
		t.Errorf("%s, %v", d, err)
	}
	if d, err := watchdog("1000", "2", 2); d != time.Millisecond || err != nil {
		t.Errorf("%s, %v", d, err)
	}
}

func FuzzVariables(f *testing.F) {
	f.Add("/run/systemd/notify", "30000000", "7", "1", "7", "a:b")
	f.Add("@x", "", "", "2", "8", ":::")
	f.Fuzz(func(t *testing.T, socket, usec, watched, fds, forPID, names string) {
		if address, err := notifyAddress(socket); err == nil && len(address) > 107 {
			t.Errorf("%q would be cut", address)
		}
		if d, err := watchdog(usec, watched, 7); err == nil && (d < 0 || d > 24*time.Hour) {
			t.Errorf("%s", d)
		}
		n, err := passedFiles(fds, forPID, 7)
		if err == nil && (n < 0 || n > mostPassed) {
			t.Errorf("%d", n)
		}
		for _, name := range splitNames(names, n) {
			if name == "" {
				t.Error("a file without a name")
			}
		}
		if line := statusLine(names); strings.ContainsAny(line, "\n\x00") || len(line) > maxStatus+len("STATUS=") {
			t.Errorf("%q", line)
		}
	})
}
