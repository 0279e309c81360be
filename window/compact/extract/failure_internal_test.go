package extract

import (
	"strings"
	"testing"
)

// What runners of tests say in forms of their own: the number of a test that failed, the end of a traceback, a warning that counts.
func TestFailuresOfOtherRunners(t *testing.T) {
	for _, c := range []struct{ output, want string }{
		{"....\n\n  1) test a follow-up takes 25 minutes (Agenda.RetornoTest)\n     test/agenda/retorno_test.exs:31\n     Assertion with == failed\n     code:  assert slot.minutes == 25\n10 tests, 1 failure", "a follow-up takes 25 minutes"},
		{"Traceback (most recent call last):\n  File \"/w/cli.py\", line 71, in main\n    run(opts)\nheron.errors.FrontierLocked: /var/tmp/heron.db is held by pid 4117", "FrontierLocked: /var/tmp/heron.db is held by pid 4117"},
		{"There was 1 failure:\n\n1) Paciente\\LogTest::testCpfIsMasked\nFailed asserting that false is true.\n\nFAILURES!\nTests: 6, Failures: 1.", "testCpfIsMasked"},
		{"Compiling 3 files (.ex)\n    warning: variable \"unidade\" is unused\n    └─ lib/prioridade.ex:52:12\n\nCompilation failed due to warnings while using the --warnings-as-errors option", "variable \"unidade\" is unused"},
	} {
		f, found := failed(c.output, true)
		if !found || !strings.Contains(strings.Join(f.lines[:f.best], "\n"), c.want) {
			t.Errorf("%q is not among %q of %q", c.want, f.lines[:f.best], c.output)
		}
	}
	if f, found := failed("To do:\n1) buy bread and butter\n2) sleep for a while", false); found {
		t.Errorf("a list is taken for a failure: %+v", f)
	}
}
