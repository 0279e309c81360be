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
	interrupted := ctx.Err() != nil
	stop()
	if err != nil && !interrupted {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

// fleet holds what runs until ctx ends.
type fleet struct {
	ctx      context.Context
	dir, url string
	running  []*exec.Cmd
}

func try(ctx context.Context, once bool) (err error) {
	dir, err := os.MkdirTemp("", "plimsoll-fleet-")
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	f := &fleet{ctx: ctx, dir: dir}
	defer func() {
		end()
		for _, cmd := range f.running {
			_ = cmd.Wait()
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	if err := f.serve(); err != nil {
		return err
	}
	// alpha works, with a process that outgrows its limit and is killed, and on what was submitted there; beta has a run inside another; on gamma one
	// run goes at a time, so the second one waits.
	eater := "while :; do head -c 400M /dev/zero | tail >/dev/null; sleep 5; done"
	for _, r := range []struct{ host, flags, script string }{
		{"alpha", "run --quiet --tool agent --memory-max 200M", "sh -c '" + eater + "'"},
		{"alpha", "submit --on local --wait --tool submitted", "sleep 3600"},
		{"beta", "run --quiet --tool agent", f.plimsoll() + " run --quiet --tool tests -- sleep 3600"},
		{"gamma", "run --quiet --tool build", "sleep 3600"},
		{"gamma", "run --quiet --tool deploy --wait", "sleep 3600"},
	} {
		if err := f.start(f.on(r.host, append(strings.Fields(r.flags), "--", "sh", "-c", r.script)...)); err != nil {
			return err
		}
		time.Sleep(300 * time.Millisecond) // so that gamma's second run is the second
	}
	fmt.Fprintf(os.Stderr, "fleet: %s, with the hosts alpha, beta and gamma\n", f.url)
	err = f.await("all hosts see each other", func() bool {
		out, _ := f.on("alpha", "runs").Output()
		text := string(out)
		return strings.Contains(text, "tests") && strings.Contains(text, "deploy") && strings.Contains(text, "killed")
	})
	shown := [][]string{{"top"}}
	if once {
		shown = [][]string{{"top", "--once"}, {"runs"}}
	}
	for _, command := range shown {
		if once {
			fmt.Println("\n$ plimsoll " + strings.Join(command, " ") + "   # on alpha")
		}
		if err == nil {
			cmd := f.on("alpha", command...)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
			err = cmd.Run()
		}
	}
	return err
}

func (f *fleet) plimsoll() string { return filepath.Join(f.dir, "plimsoll") }

// serve builds Plimsoll and the server of the module e2e/nats, which it starts on a free port of this machine.
func (f *fleet) serve() error {
	fmt.Fprintln(os.Stderr, "fleet: building plimsoll and nats-server; the first time that takes some minutes")
	build := f.command("sh", "-c", `go build -o "$0" github.com/plimsoll/plimsoll/cmd/plimsoll &&
		go -C "$(go list -m -f '{{.Dir}}' github.com/plimsoll/plimsoll)/e2e/nats" tool -n nats-server`, f.plimsoll())
	build.Stderr, build.Env = os.Stderr, append(os.Environ(), "CGO_ENABLED=0")
	server, err := build.Output()
	if err != nil {
		return fmt.Errorf("the build: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	_ = l.Close()
	host, port, _ := net.SplitHostPort(l.Addr().String())
	f.url = "nats://" + l.Addr().String()
	if err := f.start(f.command(strings.TrimSpace(string(server)), "-js", "-sd", filepath.Join(f.dir, "jetstream"), "-a", host, "-p", port, "-l", filepath.Join(f.dir, "nats.log"))); err != nil {
		return err
	}
	return f.await("nats-server answers", func() bool {
		c, err := net.Dial("tcp", l.Addr().String())
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}

// command returns a command that is asked to end when all does.
func (f *fleet) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(f.ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// on returns a command of Plimsoll on one of the hosts. What makes it another host are its state and its name.
func (f *fleet) on(host string, args ...string) *exec.Cmd {
	home := filepath.Join(f.dir, host)
	_ = os.MkdirAll(filepath.Join(home, "shop"), 0o700)
	cmd := f.command(f.plimsoll(), args...)
	cmd.Dir = filepath.Join(home, "shop")
	cmd.Env = append(os.Environ(), "HOME="+home, "PLIMSOLL_STATE_DIR="+filepath.Join(home, "state"), "PLIMSOLL_CONFIG=", "PLIMSOLL_FLEET_URL="+f.url, "PLIMSOLL_FLEET_HOST="+host)
	if host == "gamma" {
		cmd.Env = append(cmd.Env, "PLIMSOLL_RESOURCES_MAX_CONCURRENT_TOTAL=1")
	}
	return cmd
}

func (f *fleet) start(cmd *exec.Cmd) error {
	f.running = append(f.running, cmd)
	return cmd.Start()
}

func (f *fleet) await(what string, condition func() bool) error {
	for end := time.Now().Add(time.Minute); !condition(); {
		select {
		case <-f.ctx.Done():
			return f.ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
		if time.Now().After(end) {
			return errors.New("waited a minute in vain: " + what)
		}
	}
	return nil
}
