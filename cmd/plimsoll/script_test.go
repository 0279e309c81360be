package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/plimsoll/plimsoll/internal/app/stores"
	"github.com/plimsoll/plimsoll/internal/footprint/first"
	"github.com/plimsoll/plimsoll/internal/testing/golden"
)

// tools is a directory with the program, and the agent and MCP server that it runs in tests, built without
// the race detector: its tables alone would break a memory limit.
var tools string

func TestMain(m *testing.M) {
	heedSignals()
	// The program has left itself one processor before main, here too, and so one test at a time. Most of a test here is waiting for a
	// program that it has started.
	runtime.GOMAXPROCS(first.Processors)
	if err := flag.Set("test.parallel", strconv.Itoa(2*first.Processors)); err != nil { // -parallel is read later
		panic(err)
	}
	var err error
	if tools, err = buildTools(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(tools)
	os.Exit(code)
}

// heedSignals makes what the tests start heed signals that are ignored here, as under nohup or in the
// background of a shell: an ignored one is inherited, one that is caught is not (signal(7)).
func heedSignals() {
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig) // and nobody listens
		}
	}
}

func buildTools() (string, error) {
	dir, err := os.MkdirTemp("", "plimsoll-test-")
	if err != nil {
		return "", err
	}
	for name, pkg := range map[string]string{"plimsoll": ".", "agent": "./testdata/agent", "toolserver": "../../internal/testing/toolserver/standalone"} {
		if name == "agent" && runtime.GOOS == "windows" {
			continue
		}
		if runtime.GOOS == "windows" {
			name += ".exe"
		}
		out, err := exec.Command("go", "build", "-o", filepath.Join(dir, name), pkg).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
	}
	return dir, nil
}

// TestScripts runs one script per user story against this program.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: golden.Update(),
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", tools+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Setenv("PLIMSOLL_STATE_DIR", filepath.Join(e.WorkDir, "state")) // a ledger and a history of its own
			e.Setenv("PLIMSOLL_CACHE_DIR", filepath.Join(e.WorkDir, "cache"))
			e.Defer(func() {
				if names := stores.Unknown(filepath.Join(e.WorkDir, "state"), filepath.Join(e.WorkDir, "cache")); len(names) > 0 {
					t.Errorf("%q belong to no store in internal/app/stores", names)
				}
			})
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "kernel": // a kernel layer holds memory here
				return chosenLayer().kernel, nil
			}
			return false, fmt.Errorf("no condition %q", cond)
		},
	})
}
