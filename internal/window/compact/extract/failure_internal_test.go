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
		{"00:03 +4: Cart keeps its total\n00:03 +4 -1: Cart refuses a negative count [E]\n  Expected: <0>\n00:04 +9 -1: Some tests failed.", "Cart refuses a negative count"},
		{"test_total (cart.CartTest) ... ok\ntest_negative_count (cart.CartTest) ... ERROR\n\nRan 2 tests in 0.004s", "test_negative_count"},
		{"keeps its total ... ok (3ms)\nrefuses a negative count ... FAILED (5ms)\n\nok | 1 passed", "refuses a negative count"},
		{"Start 1: refuses_negative\n1/1 Test #1: refuses_negative ...........***Failed    0.02 sec", "refuses_negative"},
		{"Checking 12 files\n────────\nlib/cart.ex:19:no_return\nFunction total/1 has no local return.\n────────\nlib/tax.ex:4:pattern_match\nThe pattern can never match.\n────────\ndone\ndone (warnings were emitted)\nsee above\nHalting", "lib/cart.ex:19:no_return"},
		{"shop/cart.go:31:3: result of fmt.Errorf call not used\nfirst look\nsecond look\nthird look\nfourth look\nfifth look", "result of fmt.Errorf call not used"},
		{"a log of the run\nThe following failure was thrown by a test:\nExpected: at least 14\n  Actual: <11.5>\nmuch more of it\nand more of it\nyet more of it\nthe last of it", "Actual: <11.5>"},
	} {
		f, found := readFailure(c.output, true)
		if !found || !strings.Contains(strings.Join(f.lines[:f.best], "\n"), c.want) {
			t.Errorf("%q is not among %q of %q", c.want, f.lines[:f.best], c.output)
		}
	}
	// What the error was comes second.
	if f, _ := readFailure("..\n\n  1) test the sixth copy is refused (Library.CheckoutTest)\n     test/checkout_test.exs:58\n     ** (MatchError) no match of right hand side value: {:ok, 6}\n12 tests, 1 failure", true); !strings.Contains(strings.Join(f.lines, "\n"), "value: {:ok, 6}") {
		t.Errorf("the error's name is not among %q", f.lines)
	}
	for _, output := range []string{"keeps its total ... ok\nthe log ends with an error", "src/cart.go:31: a comment", "Ended in 3 seconds after 2 tries"} {
		if f, found := readFailure(output, false); found {
			t.Errorf("%q is taken for a failure: %+v", output, f)
		}
	}
	if f, found := readFailure("To do:\n1) buy bread and butter\n2) sleep for a while", false); found {
		t.Errorf("a list is taken for a failure: %+v", f)
	}
}
