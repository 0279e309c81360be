package journal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/golden"
	"github.com/plimsoll/plimsoll/journal"
)

// events has one of every type.
var events = []journal.Event{
	journal.LayerChosen{},
	journal.LayerFailed{},
	journal.Waiting{},
	journal.Admitted{},
	journal.Refused{},
	journal.RunStarted{},
	journal.ChildKilled{},
	journal.OOMKills{},
	journal.OOMDKills{},
	journal.MemoryRaised{},
	journal.Pressure{},
	journal.Leftover{},
	journal.Orphan{},
	journal.RunIdle{},
	journal.RunWoke{},
	journal.Forgotten{},
	journal.Warned{},
	journal.CleanedUp{},
	journal.RunEnded{},
	journal.LimitSet{},
	journal.LimitReached{},
	journal.LimitUsed{},
	journal.EditorSeen{},
	journal.WindowRequest{},
	journal.WindowResponse{},
	journal.WindowStalled{},
	journal.WindowRateWaited{},
	journal.WindowPlan{},
	journal.WindowRepaired{},
	journal.WindowCompacted{},
	journal.WindowBreak{},
	journal.WindowTransformed{},
	journal.WindowOverflow{},
	journal.WindowRefused{},
	journal.WindowPassed{},
	journal.WindowBreaker{},
	journal.WindowOn{},
	journal.WindowOff{},
	journal.WindowSummaryUnused{},
	journal.WindowLoop{},
	journal.WindowStore{},
	journal.WindowSummary{},
	journal.ToolCalled{},
	journal.ToolResultLarge{},
	journal.ToolsListed{},
	journal.ToolRefused{},
	journal.ToolRead{},
	journal.ToolServer{},
	journal.ToolNoise{},
	journal.ToolsTallied{},
	journal.SpoolEvicted{},
	journal.AgentQueryStarted{},
	journal.AgentQueryEnded{},
	journal.AgentQueryRefused{},
	journal.AgentCalled{},
	journal.AgentResultCut{},
	journal.AgentCallLeaked{},
	journal.AgentLoop{},
	journal.AgentRequest{},
	journal.AgentRoom{},
	journal.AgentRetry{},
	journal.AgentForgot{},
	journal.MemoryCaptured{},
	journal.MemoryReach{},
	journal.MemoryDropped{},
	journal.MemoryRecalled{},
	journal.AgentSessionsEvicted{},
	journal.AgentSessionCut{},
	journal.AgentSessionDamaged{},
	journal.AgentSessionTorn{},
	journal.MemoryEvicted{},
	journal.MemoryConsolidated{},
	journal.MemoryForgotten{},
	journal.MemoryRefused{},
	journal.MemoryDamaged{},
	journal.AgentQueueClosed{},
	journal.AgentQueueReopened{},
	journal.AgentQueueRemoved{},
	journal.AgentTasksEvicted{},
	journal.MemoryNoteEvicted{},
	journal.MemoryFacts{},
	journal.MemoryFactsFailed{},
	journal.MemoryVectorsMade{},
	journal.MemoryVectorsFailed{},
	journal.MemoryVectorsFull{},
}

// TestEventsStay: every event's kind and keys, as --events and the event log write them.
func TestEventsStay(t *testing.T) {
	var all strings.Builder
	have := map[string]bool{}
	for _, e := range events {
		of := reflect.TypeOf(e)
		have[of.Name()] = true
		all.WriteString(e.Kind() + "\n")
		for line := range strings.Lines(golden.Type(of)) {
			all.WriteString("  " + line)
		}
	}
	golden.Check(t, filepath.Join("testdata", "events.txt"), all.String())
	for name := range eventTypes(t) {
		if !have[name] && name != "Unknown" {
			t.Errorf("journal.%s is an event and not in the list of this test", name)
		}
	}
}

// eventTypes are the types of this package's source that have a method Kind.
func eventTypes(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	names := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "Kind" {
				continue
			}
			if of, ok := f.Recv.List[0].Type.(*ast.Ident); ok {
				names[of.Name] = true
			}
		}
	}
	return names
}

// TestReportStays: every key of a run's report.
func TestReportStays(t *testing.T) {
	golden.Check(t, filepath.Join("testdata", "report.txt"), golden.Type(reflect.TypeFor[journal.Report]()))
}
