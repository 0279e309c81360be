package archtest

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
)

// roomLines are the lines of Go without tests that each room may have. They only ever go down: a room that has shrunk by more than
// slack is asked to say so here, and one that grows takes the lines from another.
var roomLines = map[string]int{
	"agent":            24670, // with the stand-in, a table of patterns
	"app":              27690, // with the table of all stores, what is submitted, what a fleet remembers and what hosts see of each other, plimsoll spend, the two demos, notes that go by themselves inside of a run, and what top, stats and runs took over
	"argocd":           19140,
	"bench":            5_560, // with the rates of providers, loops, and a simulated fleet
	"cmd":              6440,  // with a comment for each command, plimsoll spend, the demo of Argo CD, the explanation of a table, and the manual page in the place of three modules
	"config":           10590,
	"deploy":           310,
	"e2e":              740,
	"examples":         720,    // with three hosts of a fleet
	"fleet":            2640,   // with a comment for each function; what hosts share: buckets, history, budgets, rates, sealed windows, and which hosts there are
	"internal":         12910,  // with the limits of spending, the wrapping of lines, and lines and damaged files of all stores
	"jobs":             3330,   // the engines that place runs: Slurm, and Kubernetes by a client of our own
	"internal/testing": 10_090, // with what all adapters of models are held to, readers in pieces and files of tests, which took 1900 lines from tests
	"journal":          1870,
	"limit":            340,
	"memory":           16320, // with what tells statements from questions and orders (signs), and what records are named by
	"process":          25670, // with the use of a run, what refusals name, the rests of the watches over disks and trees, and turns at the weight of a session
	"tools":            31_000,
	"watch":            11040, // with what a fleet is measured by, what is spent, the state of a run, idle ones and who is forgotten, plans, waits for a provider, verdicts, events as sentences, whose turn it is, and the host's memory by run
	"window":           42500, // with what replicas share of conversations, the queue for what providers let through, loops of any agent, prices, what each answer has cost, the reasoning that models want back, and roles that they refuse
}

// slack is how far below its bound a room may be, in lines, before the bound has to follow.
const slack = 600

// What the module may have in all, of what a reader has to find his way through.
const (
	maxSettings   = 123 // keys of the configuration, with those of idle runs, of limits of spend, on_loop, the fleet and where runs are placed
	maxShortFiles = 220 // files without tests of less than 100 lines
	maxRiddles    = 0   // comments that say that something is what something else is
)

// riddle matches a comment of the form "X is what ...", which says neither what to call it nor why it is there.
var riddle = regexp.MustCompile(`(?m)^\s*// \S+( \S+)? (is|are) (what|who|how|where|whether|which|when)\b`)

// roomOf returns the room that a folder belongs to. A plane's packages are one room, those that may be imported and those below
// internal; what internal has of its own is another.
func roomOf(folder string) string {
	top, rest, _ := strings.Cut(folder, "/")
	if top != "internal" {
		return top
	}
	plane, _, _ := strings.Cut(rest, "/")
	if plane == "testing" {
		return "internal/testing"
	}
	if _, ok := roomLines[plane]; ok {
		return plane
	}
	return top
}

func TestRoomsStayWithinTheirLines(t *testing.T) {
	lines := map[string]int{}
	short, riddles := 0, 0
	for folder, names := range goFolders(t) {
		room := roomOf(folder)
		for _, name := range names {
			text := read(t, name)
			n := bytes.Count(text, []byte("\n"))
			lines[room] += n
			if n < 100 {
				short++
			}
			riddles += len(riddle.FindAll(text, -1))
		}
	}
	for _, room := range slices.Sorted(maps.Keys(lines)) {
		most, ok := roomLines[room]
		switch n := lines[room]; {
		case !ok:
			t.Errorf("%s: a room without a bound of its lines; it has %d", room, n)
		case n > most:
			t.Errorf("%s: %d lines, of at most %d: take them from another room, or write here why not", room, n, most)
		case n < most-slack:
			t.Errorf("%s: %d lines: write them here as its new bound, which is %d", room, n, most)
		}
	}
	for room := range roomLines {
		if lines[room] == 0 {
			t.Errorf("%s: there is no such room", room)
		}
	}
	for _, c := range []struct {
		what    string
		n, most int
	}{
		{"settings", len(config.Keys()), maxSettings}, {"files of less than 100 lines", short, maxShortFiles}, {`comments of the form "X is what"`, riddles, maxRiddles},
	} {
		if c.n > c.most {
			t.Errorf("%d %s, of at most %d", c.n, c.what, c.most)
		}
	}
}
