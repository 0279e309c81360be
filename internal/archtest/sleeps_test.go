package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"testing"
)

// sleeps are the functions of tests that pause for a fixed time, by file and name, with the reason. Everywhere else a test waits for what
// it needs: see internal/testing/wait.
var sleeps = map[string]string{
	// The pause is what is tested.
	"cmd/plimsoll/killed_linux_test.go TestASupervisorKilledAtAnyMomentLeavesNothingForGood": "kills at any moment",
	"internal/memory/archive/archive_test.go TestKilledWriters":                              "kills at any moment",
	"tools/spool/process_test.go TestKilledWriters":                                          "kills at any moment",
	"internal/app/agents/facts_internal_test.go TestFactsOutliveAKill":                       "kills at any moment",
	"process/sandbox/cpu_linux_test.go TestQuota":                                            "measures the use of a processor",
	"process/sandbox/time_linux_test.go TestTimeStandsStillWhileStopped":                     "stops a run for longer than its limit of time",
	"process/admission/lock_test.go TestLockIsWaitedForAsLongAsItGoesFromHandToHand":         "holds a lock for as long as one waits for it",
	"e2e/systemd_linux_test.go TestSystemdUnit":                                              "lets the time of systemd's watchdog pass",
	"process/sandbox/garbage_internal_linux_test.go TestLooksMakeNoGarbage":                  "a process is young for a time, and is looked at more then",
	"e2e/top_linux_test.go ticker":                                                           "tells whether a file grows",

	// A process that a test plays.
	"process/sandbox/tools_linux_test.go playTool":                     "takes memory step by step, or goes on until it is killed",
	"internal/app/run/pressure_internal_linux_test.go init":            "takes memory step by step",
	"internal/tools/mcp/client/main_test.go serve":                     "goes on until it is killed",
	"internal/tools/spool/query/query_test.go TestMain":                "goes on until it is killed",
	"internal/tools/mcp/server/deadline_test.go Read":                  "by the clock of its callers' bubble",
	"internal/watch/traces/traces_test.go fill":                        "writes no faster than a writer of runs takes it",
	"internal/tools/acp/relay_test.go TestFailWaitsForTheFirstRequest": "an editor whose first request is late",

	// Nothing may happen, and nothing tells when it would have happened.
	"internal/app/agents/facts_internal_test.go TestFactsInTheBackground":        "nothing is read again",
	"internal/app/agents/facts_internal_test.go TestFactsBudgetOutlivesARestart": "nothing is spent again",
	"cmd/plimsoll/notify_linux_test.go TestANoticeMakesNoOther":                  "no other notice comes",
	"cmd/plimsoll/notify_linux_test.go TestAllRunsAreToldOfOnce":                 "nothing is told twice",
	"cmd/plimsoll/notify_linux_test.go watcher":                                  "a daemon has looked once, of which it says nothing",
	"e2e/editor_linux_test.go TestSignalOfTheGroupComesOnce":                     "no signal comes twice",
	"e2e/editor_linux_test.go TestRunOutlivesInputOrCaller":                      "the run does not end",
	"e2e/editor_linux_test.go livesOn":                                           "the run does not end",
	"e2e/editor_linux_test.go TestRunsWithoutEditorHaveTheirSession":             "the run does not end",
	"process/sandbox/cpu_linux_test.go TestNormalWeightChangesNothing":           "no process becomes nicer",
	"internal/watch/traces/traces_test.go TestRestart":                           "no span is sent twice",

	// A clock or a screen of others.
	"internal/window/compact/checkpoint/listing_internal_test.go TestOwnWritesAreNotReadAgain": "the clock of a file system is coarse",
	"e2e/clis_test.go TestAgentStartsUp":                 "Claude Code draws its screen before it takes keys",
	"e2e/cloned_test.go TestClonedRepositoryInATerminal": "Claude Code asks before it takes keys",
}

// noWait are modules of their own that do not require ours, and so poll by themselves.
var noWait = []string{"e2e/collector", "e2e/helm"}

// TestTestsDoNotSleep: a test that sleeps is slow on a fast machine and fails on a slow one. Sleeping in a bubble of testing/synctest takes
// no time: a function is in one that names that package, that calls one of its folder that does, or that only such functions call.
func TestTestsDoNotSleep(t *testing.T) {
	found := map[string]bool{}
	folders := map[string][]sleeper{}
	for _, name := range files(t, "_test.go") {
		if below(name, noWait...) {
			continue
		}
		folders[path.Dir(name)] = append(folders[path.Dir(name)], sleepers(t, name)...)
	}
	for _, functions := range folders {
		inBubbles(functions)
		for _, f := range functions {
			if !f.sleeps || f.bubble {
				continue
			}
			key := f.file + " " + f.name
			found[key] = true
			if sleeps[key] == "" {
				t.Errorf("%s: %s sleeps: wait for what it needs (internal/testing/wait, a channel, testing/synctest); where the pause itself is what is tested, say so in sleeps", f.file, f.name)
			}
		}
	}
	for key := range sleeps {
		if !found[key] {
			t.Errorf("sleeps: %s does not sleep any more: take it out", key)
		}
	}
}

// sleeper is a function of a test file.
type sleeper struct {
	file, name     string
	sleeps, bubble bool
	calls          map[string]bool
}

func sleepers(t *testing.T, name string) (found []sleeper) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range tree.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		f := sleeper{file: name, name: fn.Name.Name, calls: map[string]bool{}}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if of, ok := n.X.(*ast.Ident); ok {
					f.bubble = f.bubble || of.Name == "synctest"
					f.sleeps = f.sleeps || of.Name == "time" && n.Sel.Name == "Sleep"
				}
			case *ast.CallExpr:
				if called, ok := n.Fun.(*ast.Ident); ok {
					f.calls[called.Name] = true
				}
			}
			return true
		})
		found = append(found, f)
	}
	return found
}

// inBubbles marks who calls a function with a bubble, and then who is called from bubbles only.
func inBubbles(functions []sleeper) {
	direct := slices.Clone(functions)
	for i := range functions {
		f := &functions[i]
		f.bubble = f.bubble || slices.ContainsFunc(direct, func(o sleeper) bool { return o.bubble && f.calls[o.name] })
	}
	for i := range functions {
		f := &functions[i]
		outside := func(o sleeper) bool { return o.calls[f.name] && !o.bubble }
		called := func(o sleeper) bool { return o.calls[f.name] }
		f.bubble = f.bubble || slices.ContainsFunc(functions, called) && !slices.ContainsFunc(functions, outside)
	}
}
