package lab

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

const (
	// MaxHog bounds what one child takes.
	MaxHog = 64 * limit.GiB
	// MaxChildren bounds the children at one time.
	MaxChildren = 4
	// maxHold bounds how long a child keeps what it has.
	maxHold = 5 * time.Minute
	// maxEnding bounds the time for a child to end.
	maxEnding = 30 * time.Second
	// hogStep is the memory that a child takes between two reports.
	hogStep = 16 * limit.MiB
	// pageBytes is the smallest page of any system: touching each makes all of it resident.
	pageBytes = 4 << 10
	// buildName is the name of the tool, and of the child in lists of processes: who reads of a kill reads what died.
	buildName = "build"
	// maxSaid bounds the kept part of a child's standard error, in bytes.
	maxSaid = 512
)

type appetite struct {
	MiB     int     `json:"mib" jsonschema:"How much memory to take, in MiB"`
	Seconds float64 `json:"seconds,omitempty" jsonschema:"How long to keep it, in seconds"`
}

// hogs starts the children of the tool build.
type hogs struct {
	argv, env []string
	children  atomic.Int32
}

func newHogs(o Options) *hogs {
	env := o.Env
	if env == nil {
		env = []string{} // nil would be the environment of this process, with its keys
	}
	return &hogs{argv: append([]string(nil), o.Hog...), env: env}
}

func (h *hogs) buildTool() builtin.Tool {
	return builtin.Typed(builtin.Tool{
		Name: buildName, Title: "Run a build",
		Description: laboratory + "runs a build that does nothing but take memory: in a child process, which touches all of it and gives it back.",
	}, h.runBuild)
}

// runBuild starts a child, waits until it has all, and lets it go.
func (h *hogs) runBuild(ctx context.Context, c *builtin.Call, in appetite) (*builtin.Result, error) {
	hold := time.Duration(in.Seconds * float64(time.Second))
	switch {
	case in.MiB < 1 || in.MiB > int(MaxHog/limit.MiB):
		return nil, fmt.Errorf("mib is %d: send a number from 1 to %d", in.MiB, MaxHog/limit.MiB)
	case !(in.Seconds >= 0 && in.Seconds <= maxHold.Seconds()):
		return nil, fmt.Errorf("seconds is %v: send a number from 0 to %v", in.Seconds, maxHold.Seconds())
	}
	if h.children.Add(1) > MaxChildren {
		h.children.Add(-1)
		return nil, fmt.Errorf("%d builds run already: wait until one is done", MaxChildren)
	}
	defer h.children.Add(-1)

	life, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(life, h.argv[0], append(append([]string(nil), h.argv[1:]...), strconv.Itoa(in.MiB))...)
	cmd.Args[0] = buildName // the child shows itself under it: see [Hog]
	cmd.Env = h.env
	cmd.WaitDelay = 5 * time.Second // for pipes that something else holds open
	said := &limit.Head{Max: maxSaid}
	cmd.Stderr = said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("the child's standard input: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("the child's standard output: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the build did not start: %w", err)
	}
	taken := followChild(stdout, in.MiB, func(mib int) {
		c.Progress(float64(mib), float64(in.MiB), fmt.Sprintf("%d of %d MiB", mib, in.MiB))
	})
	silent := make(chan struct{}) // closed when the child has closed its output, as it does when it is killed
	go func() {
		defer close(silent)
		_, _ = io.Copy(io.Discard, stdout) // a child that goes on talking can end
	}()
	if taken == in.MiB && hold > 0 {
		t := time.NewTimer(hold)
		select {
		case <-t.C:
		case <-silent:
		case <-ctx.Done():
		}
		t.Stop()
	}
	_ = stdin.Close()
	late := time.AfterFunc(maxEnding, cancel)
	err = cmd.Wait()
	late.Stop()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case taken < in.MiB:
		return nil, fmt.Errorf("the build (process %d) had taken %d of %d MiB when it ended: %s%s", cmd.Process.Pid, taken, in.MiB, exitReason(err), saying(said.Bytes()))
	case err != nil:
		return nil, fmt.Errorf("the build (process %d) had taken all %d MiB and then ended: %w%s", cmd.Process.Pid, in.MiB, err, saying(said.Bytes()))
	}
	return &builtin.Result{Text: fmt.Sprintf("A build (process %d) took %d MiB, touched all of it and gave it back.", cmd.Process.Pid, in.MiB)}, nil
}

func exitReason(err error) string {
	if err == nil {
		return "without a reason"
	}
	return err.Error()
}

// followChild reads the numbers of MiB that a child reports and calls tell with each, until the child has all of them or ends. It returns
// the last number.
func followChild(r io.Reader, all int, tell func(mib int)) int {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 4<<10)
	taken := 0
	for taken < all && lines.Scan() {
		if mib, err := strconv.Atoi(strings.TrimSpace(lines.Text())); err == nil && mib > taken && mib <= all {
			taken = mib
			tell(mib)
		}
	}
	return taken
}

// saying puts what a child said on its standard error behind a sentence.
func saying(text []byte) string {
	if text := strings.ToValidUTF8(strings.TrimSpace(string(text)), "\uFFFD"); text != "" {
		return "; it said: " + text
	}
	return ""
}

// Hog does the work of the tool build's child: it takes so many MiB, touches every page of
// them and reports on out, in lines, the MiB it has. Then it holds them until in ends, or
// fails. in is the child's standard input: it ends with the process that started it, and
// then Hog returns at once, also while it is still taking.
//
// An argument that is no number from 1 to [MaxHog] is an error.
func Hog(mib string, in io.Reader, out io.Writer) error {
	want, err := strconv.Atoi(mib)
	if err != nil || want < 1 || want > int(MaxHog/limit.MiB) {
		return fmt.Errorf("%q MiB cannot be taken: give a number from 1 to %d", mib, MaxHog/limit.MiB)
	}
	if runtime.GOOS == "linux" {
		// Whoever has the least to lose should be ended first. Where this is not allowed the
		// kernel goes by size, which mostly is the same.
		_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
		// Lists of processes show the name of the program's file; this one is here under another.
		_ = os.WriteFile("/proc/self/comm", []byte(filepath.Base(os.Args[0])), 0)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, in)
	}()
	var held [][]byte
	for taken := 0; taken < want; {
		select {
		case <-gone:
			return nil
		default:
		}
		step := min(int(hogStep/limit.MiB), want-taken)
		block := make([]byte, step<<20)
		for i := 0; i < len(block); i += pageBytes {
			block[i] = byte(i/pageBytes) | 1
		}
		held = append(held, block)
		taken += step
		if _, err := fmt.Fprintln(out, taken); err != nil {
			return nil // nobody listens any more
		}
	}
	<-gone
	runtime.KeepAlive(held)
	return nil
}
