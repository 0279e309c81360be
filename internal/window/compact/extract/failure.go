package extract

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/sorting"
)

// A failure is the errors in the output of a command's last run.
type failure struct {
	command string // or the tool's name
	turn    int32
	code    int      // 0 when it is not known
	lines   []string // first those that say most, then the others, both in the output's order
	best    int      // number of lines that say most
	over    bool     // the command was run again since
	sure    bool     // known by a code, from the client, or by how a line begins, not by words alone
}

const (
	maxFailures    = 200
	maxFailureHead = 16 << 10 // of an output that is searched for failures, at its beginning
	maxFailureTail = 96 << 10 // and at its end
	maxFailLines   = 14       // of one failure
	maxFailBest    = 5        // of the lines that say most
	maxFailBytes   = 400      // bytes of the lines that say most
	maxFailLine    = 240      // bytes
	maxCommand     = 160      // bytes of a command as it is quoted
)

// How much a line of a command's output says about what failed.
const (
	failNamed   = 5 // a test that failed, an error of a compiler, a panic
	failDetail  = 3 // what was expected and what came, where it was
	failGeneral = 2
)

// failMarks are the ways in which runners of tests, compilers and shells begin a line about what
// failed. They are compared at the start of the trimmed line.
var failMarks = []string{
	"--- FAIL", "=== FAIL", "FAIL\t", "FAIL ", "FAIL:", "FAILED", "panic:", "fatal:", "fatal error:", "Error:", "error:", "ERROR:", "ERROR ", "error[", "[ERROR]", "E   ", "✗", "✕", "✘", "×", "✖", "❌", "●",
	"not ok ", "npm ERR!", "npm error", "make: ***", "Traceback", "thread '", "FAILURE", "Failures:", "BUILD FAILED", "BUILD FAILURE", "Caused by:", "Exception in", "Assertion", "AssertionError",
	"rspec ./", "Failed:", "Failed!", "[FAIL]", "[  FAILED  ]", "[xUnit.net", "undefined:", "ld:", "ld.lld:", "collect2:", "SyntaxError", "TypeError", "ReferenceError", "KO ", "NG ",
	"Fehler", "FEHLER", "Erreur", "ERREUR", "ERRO", "Errore", "Ошибка", "错误", "エラー", "失败", "失敗", "(in test file", "sh: ", "bash: ", "zsh: ", "Segmentation fault", "Killed", "signal:", "Abort",
}

// failWords mark a failure wherever they stand in the line, and detailWords what was
// expected. All in lower case.
var (
	failWords = []string{
		"failed", "failure", "fails", "failing", " error", "error:", "error ", "error[", "error)", "panic", "exception", "assert", "undefined", "cannot find", "not found", "no such file", "timed out", "timeout", "denied", "refused",
		"mismatch", "unexpected", "cannot ", "could not", "unable to", "unresolved", "missing", "traceback", "segfault", "exit status", "leak", "data race", "deadlock", "invalid", "fehlgeschlagen", "fehler",
		"échec", "échoué", "erreur", "falló", "fallo", "fallido", "falhou", "fallito", "провал", "ошибка", "błąd", "mislukt", "失败", "失敗", "错误", "エラー", "échoue", "falha", "fallit", "ошибк", "nicht bestanden", "not ok", "violat", "conflict",
	}
	detailWords = []string{
		"expected", "expect(", "got ", "got:", "want ", "want:", "actual", "received", "but was", "to equal", "left:", "right:", "diff:", "esperado", "esperaba", "erwartet", "attendu", "obtenu",
		"obtuvo", "erhalten", "verwacht", "ожидалось", "получено", "oczekiwano", "应为", "期待", "实际", "assert", " != ", " == ", "-->",
	}
	// passMarks mark an output without a code as that of a command that did well.
	passMarks = []string{"0 failed", "0 failures", "0 fail", "no failures", "0 errors", "0 error", "failures: 0", "errors: 0", "failed: 0", "failed=0", "fail 0", "failed:     0", "error: (none)", "error: none", "error: null", "errors: none", "error: <none>", "stderr: (none)"}
	// exitMarks stand before the code a command ended with. In lower case.
	exitMarks = []string{"exit code", "exit status", "exited with code", "exit_code", "exitcode", "returncode", "return code", "exited with", "exit-code", "rc=", "exit=", "exit:", "*** [", "terminated with", "beendet mit", "código de salida", "code de sortie", "exit"}
)

// outcomeWords are the detailWords that introduce an expected or an actual value; two of them in a line are a failure.
var outcomeWords = []string{
	"expected", "got ", "got:", "want ", "want:", "actual", "received", "but was", "esperado", "esperaba", "esperava", "obtenido", "obtuvo", "obtido", "erwartet", "erhalten", "bekommen", "attendu", "obtenu", "reçu", "atteso", "ottenuto", "verwacht", "kreeg", "oczekiwano", "otrzymano",
	"ожидалось", "получено", "预期", "期望", "应为", "实际", "期待", "実際",
}

// hasShoutedFailure reports whether a line says in capitals that something failed, as runners end their output: "//x:y FAILED in 3s".
func hasShoutedFailure(line string) bool {
	for _, w := range []string{"FAILED", "FAILURE", "ÉCHEC", "FALLO", "FALLÓ", "FALHA", "FALHOU", "FALLITO", "FEHLGESCHLAGEN", "NICHT BESTANDEN", "MISLUKT", "BŁĄD", "ОШИБКА", "ПРОВАЛ"} {
		if strings.Contains(line, w) {
			return true
		}
	}
	return false
}

// unsuccessful are the marks of a failure in results that are JSON.
var unsuccessful = []string{"success: false", "ok: false", "passed: false", "succeeded: false", "iserror: true", "is_error: true", "failed: true"}

// countWords returns how many of the words occur in a text.
func countWords(text string, words []string) (n int) {
	for _, w := range words {
		if strings.Contains(text, w) {
			n++
		}
	}
	return n
}

// readFailure returns the failure that the output of a command reports; found is false if it reports none. isError means that the client
// marked the output as an error.
func readFailure(text string, isError bool) (f failure, found bool) {
	head, tail := text, ""
	if len(text) > maxFailureHead+maxFailureTail {
		head, tail = text[:maxFailureHead], text[len(text)-maxFailureTail:]
	}
	r := failReader{}
	r.readLines(head)
	r.readLines(tail)
	if r.code == 0 && !isError && r.named == 0 && !r.sure {
		return failure{}, false
	}
	f.code, f.sure = r.code, isError || r.code != 0 || r.sure
	if r.named == 0 {
		r.raiseWorth()
	}
	f.lines, f.best = r.pickLines()
	return f, len(f.lines) > 0
}

// setExitCode records an exit code that a line names. A code at the beginning of the output counts more than a later one.
func (f *failReader) setExitCode(code int) {
	switch {
	case f.seen <= 4:
		f.code, f.told = code, true
	case !f.told:
		f.code = code
	}
}

// A failLine is a line of output with how much it says about a failure.
type failLine struct {
	text   string
	worth  int
	placed bool // it begins with a place in a file
}

// A failReader collects what an output says about a failure.
type failReader struct {
	lines []failLine
	named int  // lines that name a failure
	sure  bool // one of those is known by how it begins
	seen  int  // number of lines read
	code  int  // exit code of the command
	told  bool // code comes from whatever ran the command
	near  int  // how many lines more count as near one that names a failure
	trace bool // a traceback of Python has begun
	colon bool // the line before names a failure and ends with a colon
}

const maxFailScan = 4000 // lines that are held

// readLines reads lines of output and sets the worth of each by how much it says about a failure.
func (f *failReader) readLines(text string) {
	for row := range strings.Lines(text) {
		row = strings.TrimRight(row, " \t\r\n")
		if len(row) > 2000 {
			row = row[:2000]
		}
		if strings.IndexByte(row, 0x1B) >= 0 {
			row = withoutColours(row)
		}
		trimmed := strings.TrimSpace(row)
		if trimmed == "" {
			continue
		}
		trimmed = strings.TrimPrefix(trimmed, "Output: ") // Gemini CLI's, before the first line
		lower := strings.ToLower(trimmed)
		f.seen++
		if code, ok := exitCode(lower); ok {
			f.setExitCode(code)
			if len(trimmed) < 40 {
				continue // the failure's head says it
			}
		}
		worth := 0
		switch {
		case reportsSuccess(lower):
			continue
		case slices.Contains(unsuccessful, lower):
			f.sure = true
			continue
		case hasFailMark(strings.TrimLeft(trimmed, "│┃|>•* ")):
			worth, f.sure = failNamed, true
			if strings.HasPrefix(trimmed, "Traceback") {
				f.trace = true
			}
		case endsFailed(trimmed):
			worth = failNamed
		case f.trace && row[0] != ' ' && row[0] != '\t': // what ends a traceback of Python: "package.LockedError: held by 41"
			worth, f.trace = failNamed, false
		case hasFailNumber(trimmed):
			worth, f.near = failNamed, 8
			f.lines = append(f.lines, failLine{oneLine(trimmed, maxFailLine), worth, false})
			continue // it may be any list: alone it names no failure
		case strings.HasPrefix(trimmed, "warning: "): // where warnings count as errors
			worth = failDetail
		case containsAny(lower, failWords) && !strings.HasPrefix(lower, "ok"):
			worth = failGeneral
			if namesPlace(lower) || containsAny(lower, outcomeWords) && readable(trimmed) || hasShoutedFailure(trimmed) {
				worth = failNamed
			}
		case countWords(lower, outcomeWords) > 1 && readable(trimmed):
			worth = failNamed
		}
		if worth < failNamed && worth > 0 && f.near > 0 {
			worth++
		}
		if worth < failNamed && (containsAny(lower, detailWords) || namesPlace(lower) && f.near > 0) {
			worth = max(worth, 1)
			if f.near > 0 {
				worth = max(worth, failDetail)
			}
		}
		if f.colon && readable(trimmed) { // "thread 'main' panicked at src/main.rs:3:5:", and what it said on the next line
			worth = max(worth, failDetail)
		}
		f.colon = worth >= failNamed && strings.HasSuffix(trimmed, ":")
		f.near--
		if worth >= failNamed {
			f.named++
			f.near = 8
		}
		if len(f.lines) >= maxFailScan {
			f.lines = slices.Delete(f.lines, maxFailScan/4, maxFailScan/2)
		}
		f.lines = append(f.lines, failLine{oneLine(trimmed, maxFailLine), worth, beginsWithPlace(lower)})
	}
}

// raiseWorth raises the worth of lines in an output without a known form of failure: lines that begin with a place in a file, as linters
// write theirs, and lines near one that speaks of a failure.
func (f *failReader) raiseWorth() {
	near := 0
	for i := range f.lines {
		l := &f.lines[i]
		switch {
		case l.placed && readable(l.text):
			l.worth = failNamed
			f.named++
			near = 8
		case l.worth == failGeneral:
			near = 8
		case l.worth == 1 && near > 0:
			l.worth = failDetail
		}
		near--
	}
}

// pickLines returns the lines that say most about the failure, of which the first best are the most important. For a command that failed
// without a line about it, these are the last lines of its output.
func (f *failReader) pickLines() (lines []string, best int) {
	order := make([]int, 0, len(f.lines))
	most := maxFailLines
	for i := range f.lines {
		if l := &f.lines[i]; l.worth >= failDetail || l.worth > 0 && f.named == 0 && readable(l.text) {
			order = append(order, i)
		}
	}
	if f.named == 0 {
		most = maxFailLines / 3
		for i := max(0, len(f.lines)-most); i < len(f.lines); i++ {
			if f.lines[i].worth == 0 && readable(f.lines[i].text) {
				order = append(order, i)
			}
		}
	}
	sorting.StableBy(order, func(a, b int) int {
		return cmp.Or(f.lines[b].worth-f.lines[a].worth, len(f.lines[a].text)/64-len(f.lines[b].text)/64)
	})
	said := map[string]bool{}
	var taken []int
	for _, i := range order {
		if len(taken) >= most {
			break
		}
		if text := f.lines[i].text; isWorthReading(text) && !said[text] {
			said[text] = true
			taken = append(taken, i)
		}
	}
	whole := maxFailBest
	if f.named == 0 && f.code == 0 {
		whole = maxFailBest / 2
	}
	for size := 0; best < min(len(taken), whole); best++ {
		if size += len(f.lines[taken[best]].text); size > maxFailBytes && best > 0 {
			break
		}
	}
	slices.Sort(taken[:best])
	slices.Sort(taken[best:])
	for _, i := range taken {
		lines = append(lines, f.lines[i].text)
	}
	return lines, best
}

// readable reports whether a line has at least two words, which a dump of data has not.
func readable(line string) bool {
	words, run := 0, 0
	for i := range len(line) {
		switch c := line[i]; {
		case c >= 0xE0: // a script without spaces says more with a letter
			run += 2
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80:
			run++
		case class[c] == 'd':
			run = -100 // base64
		default:
			if run >= 3 && run <= 24 {
				words++
			}
			run = 0
		}
	}
	if run >= 3 && run <= 24 {
		words++
	}
	return words >= 2
}

// exitCode returns the exit code that a line, in lower case, says a command ended with; false if it names none.
func exitCode(lower string) (code int, ok bool) {
	if len(lower) > 400 {
		return 0, false
	}
	for _, m := range exitMarks {
		at := strings.Index(lower, m)
		if at < 0 || m == "exit" && at > 0 {
			continue
		}
		rest := strings.TrimLeft(lower[at+len(m):], " :=\"'>()[]*")
		rest = strings.TrimPrefix(rest, "code ")
		end := 0
		for end < len(rest) && end < 5 && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		if m == "*** [" {
			if _, number, found := strings.Cut(lower, "] error "); found {
				n, err := strconv.Atoi(strings.TrimSpace(number))
				return n, err == nil
			}
			continue
		}
		if end == 0 {
			continue
		}
		n, err := strconv.Atoi(rest[:end])
		return n, err == nil && n < 1<<16
	}
	return 0, false
}

// withoutColours returns a line without the escape sequences of a terminal.
func withoutColours(row string) string {
	var b strings.Builder
	for i := 0; i < len(row); i++ {
		if row[i] != 0x1B {
			b.WriteByte(row[i])
			continue
		}
		if i+1 < len(row) && row[i+1] == '[' {
			i += 2
			for i < len(row) && (row[i] < '@' || row[i] > '~') {
				i++
			}
		}
	}
	return b.String()
}
