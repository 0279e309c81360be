// Command fleet tries a fleet on one machine: a server of NATS and three hosts, each with a state directory and a name of its own, on which
// runs of every kind live.
//
//	go run ./examples/fleet           # in a clone; on a terminal plimsoll top shows all hosts until q
//	go run ./examples/fleet -once     # prints one look and ends
//
// It builds Plimsoll and the server, and keeps everything in a folder that it removes at the end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

func main() {
	once := flag.Bool("once", false, "print one look at all hosts and end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := try(ctx, *once || !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stdout.Fd())))
	stop()
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

// fleet holds what runs.
type fleet struct {
	dir, plimsoll, url string
	running            []*exec.Cmd
}

func try(ctx context.Context, once bool) (err error) {
	dir, err := os.MkdirTemp("", "plimsoll-fleet-")
	if err != nil {
		return err
	}
	f := &fleet{dir: dir, plimsoll: filepath.Join(dir, "plimsoll")}
	defer func() {
		f.end()
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	fmt.Fprintln(os.Stderr, "fleet: building plimsoll and nats-server; the first time that takes some minutes")
	server, err := f.build(ctx)
	if err != nil {
		return err
	}
	if err := f.serve(ctx, server); err != nil {
		return err
	}
	// alpha works, with a process that outgrows its limit and is killed, and on what was submitted there; beta has a run inside another; on gamma one
	// run goes at a time, so the second one waits.
	eater := "sh -c 'while :; do head -c 400M /dev/zero | tail >/dev/null; sleep 5; done'"
	for _, r := range []struct {
		host, tool string
		flags      []string
		script     string
	}{
		{"alpha", "agent", []string{"--memory-max", "200M"}, eater},
		{"alpha", "submitted", nil, "sleep 3600"},
		{"beta", "agent", nil, f.plimsoll + " run --quiet --tool tests -- sleep 3600"},
		{"gamma", "build", nil, "sleep 3600"},
		{"gamma", "deploy", []string{"--wait"}, "sleep 3600"},
	} {
		command := append([]string{"run", "--quiet", "--tool", r.tool}, r.flags...)
		if r.tool == "submitted" {
			command = []string{"submit", "--on", "local", "--wait", "--tool", r.tool}
		}
		if err := f.start(f.on(r.host, append(command, "--", "sh", "-c", r.script)...)); err != nil {
			return err
		}
		time.Sleep(300 * time.Millisecond) // so that gamma's second run is the second
	}
	fmt.Fprintf(os.Stderr, "fleet: %s, with the hosts alpha, beta and gamma\n", f.url)
	if err := f.awaitRuns(ctx); err != nil {
		return err
	}
	if !once {
		return f.show(ctx, "top")
	}
	for _, command := range [][]string{{"top", "--once"}, {"runs"}} {
		fmt.Println("\n$ plimsoll " + strings.Join(command, " ") + "   # on alpha")
		if err := f.show(ctx, command...); err != nil {
			return err
		}
	}
	return nil
}

// build builds Plimsoll and the server of the module e2e/nats, and returns the path of that.
func (f *fleet) build(ctx context.Context) (server string, err error) {
	root, err := output(ctx, "", "go", "list", "-m", "-f", "{{.Dir}}", "github.com/plimsoll/plimsoll")
	if err == nil {
		_, err = output(ctx, root, "go", "build", "-o", f.plimsoll, "./cmd/plimsoll")
	}
	if err == nil {
		server, err = output(ctx, filepath.Join(root, "e2e", "nats"), "go", "tool", "-n", "nats-server")
	}
	return server, err
}

func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr, cmd.Env = dir, os.Stderr, append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// serve starts the server on a free port of this machine.
func (f *fleet) serve(ctx context.Context, server string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := l.Addr().(*net.TCPAddr).Port
	f.url = fmt.Sprintf("nats://127.0.0.1:%d", port)
	_ = l.Close()
	cmd := exec.Command(server, "-js", "-sd", filepath.Join(f.dir, "jetstream"), "-a", "127.0.0.1", "-p", fmt.Sprint(port), "-l", filepath.Join(f.dir, "nats.log"))
	if err := f.start(cmd); err != nil {
		return err
	}
	return await(ctx, "nats-server answers", func() bool {
		c, err := net.Dial("tcp", l.Addr().String())
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}

// on returns a command of Plimsoll on one of the hosts. What makes it another host are its state and its name.
func (f *fleet) on(host string, args ...string) *exec.Cmd {
	home := filepath.Join(f.dir, host)
	_ = os.MkdirAll(filepath.Join(home, "shop"), 0o700)
	cmd := exec.Command(f.plimsoll, args...)
	cmd.Dir = filepath.Join(home, "shop")
	cmd.Env = append(os.Environ(), "HOME="+home, "PLIMSOLL_STATE_DIR="+filepath.Join(home, "state"), "PLIMSOLL_CONFIG=", "PLIMSOLL_FLEET_URL="+f.url, "PLIMSOLL_FLEET_HOST="+host)
	if host == "gamma" {
		cmd.Env = append(cmd.Env, "PLIMSOLL_RESOURCES_MAX_CONCURRENT_TOTAL=1")
	}
	return cmd
}

func (f *fleet) start(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	f.running = append(f.running, cmd)
	return nil
}

// awaitRuns waits until alpha sees the runs of the others.
func (f *fleet) awaitRuns(ctx context.Context) error {
	return await(ctx, "all hosts see each other", func() bool {
		out, _ := f.on("alpha", "runs").Output()
		text := string(out)
		return strings.Contains(text, "tests") && strings.Contains(text, "deploy") && strings.Contains(text, "killed")
	})
}

func await(ctx context.Context, what string, condition func() bool) error {
	for end := time.Now().Add(time.Minute); !condition(); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
		if time.Now().After(end) {
			return errors.New("waited a minute in vain: " + what)
		}
	}
	return nil
}

// show runs a command on alpha in this terminal.
func (f *fleet) show(ctx context.Context, args ...string) error {
	cmd := f.on("alpha", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// end ends what runs, the server last.
func (f *fleet) end() {
	for i := len(f.running) - 1; i >= 0; i-- {
		cmd := f.running[i]
		_ = cmd.Process.Signal(syscall.SIGTERM)
		done := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-done
		}
	}
}
