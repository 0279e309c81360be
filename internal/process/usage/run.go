package usage

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// How a peak was measured, for [Run.Method]. Other methods may be recorded too.
const (
	MethodMemoryPeak = "memory.peak"
	MethodV1MaxUsage = "v1 max_usage"
	MethodSampled    = "sampled"
	MethodMaxRSS     = "ru_maxrss"
)

// Run is the record of one run. Sizes are bytes.
type Run struct {
	// Time is the end of the run, by the clock. Runs are not sorted by it.
	Time time.Time
	// Peak is the high-water mark, page cache included where the kernel counts it; 0 means
	// that nothing was measured.
	Peak limit.Bytes
	// PeakAnon is the sampled working set (anonymous, shared and kernel memory); 0 means
	// that it was not measured.
	PeakAnon limit.Bytes
	// Method names the measurement of Peak, and Exact is true when it is a high-water mark
	// and false when it is a lower bound.
	Method string
	Exact  bool
	// Outcome is the kind of the run's end.
	Outcome journal.Outcome
	// OOMKills counts what the kernel killed inside the run, KilledChildren all
	// descendants that were ended for memory, by the kernel or by Plimsoll.
	OOMKills       int
	KilledChildren int
	// Limit is the memory limit the run was under; 0 means none.
	Limit    limit.Bytes
	Duration time.Duration
	// Layer is the sandbox layer that held the run.
	Layer    string
	ExitCode int
	// Tokens are those that its models read and wrote. Cost is in US dollars, PlanCost what a subscription's tokens would have cost.
	Tokens         int64
	Cost, PlanCost float64
	// Answers counts the answers of its models, of which 99 in a hundred had at most AnswerP99 tokens.
	Answers   uint32
	AnswerP99 int64
	// Variant names the use of a generic tool, "" where there are none: "test" of make
	// test. Runs of one variant are kept together; see [History.Variants].
	Variant string
	// ID names the run among those of all hosts, "" where nobody has named it; see [Observation].
	ID string
}

// Project identifies the project to which a history belongs.
type Project struct {
	// Key names the project's file. Different projects have different keys, also when
	// their directories have one name. It consists of 1 to 120 of A-Z a-z 0-9 . _ - and
	// begins with a letter or digit.
	Key string
	// Path is the project's directory, for people; it is cut to 4,096 bytes.
	Path string
	// Shared names the project on all hosts, "" where nobody has named it. It has the form of a key.
	Shared string
}

// Summary is the history of one variant of a tool in one project.
type Summary struct {
	Project Project
	Tool    string
	Variant string
	// Recorded counts every run ever appended and OOMKills every kernel OOM kill in
	// them; both also count what is no longer kept.
	Recorded int64
	OOMKills int64
	// Runs are the runs kept, oldest first.
	Runs []Run
}

// ErrInvalid is wrapped by the errors about what a caller passed in: a project key, a tool
// name or a run that cannot be recorded.
var ErrInvalid = errors.New("not recordable")

const (
	maxKey     = 120
	maxID      = 64
	maxCost    = 1e9
	maxTool    = 200
	maxPath    = 4096
	maxWord    = 64 // of Method, Outcome, Layer
	maxSize    = limit.Bytes(1) << 50
	maxCount   = 1 << 40
	maxSeconds = 100 * 365 * 24 * 3600
)

// checkKey returns an error for a project key that is empty, too long, or could not be the name of a file.
func checkKey(key string) error {
	if key == "" || len(key) > maxKey {
		return fmt.Errorf("%w: the project key %.40q has %d bytes; it must have 1 to %d", ErrInvalid, key, len(key), maxKey)
	}
	for i := range len(key) {
		c := key[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || c != '.' && c != '_' && c != '-') {
			return fmt.Errorf("%w: the project key %q has %q at byte %d; use letters, digits, '.', '_' and '-'", ErrInvalid, key, c, i)
		}
	}
	return nil
}

// checkTool returns an error for a tool's name that is empty, too long, or has control characters or broken UTF-8.
func checkTool(tool string) error {
	if tool == "" || len(tool) > maxTool {
		return fmt.Errorf("%w: the tool name %.40q has %d bytes; it must have 1 to %d", ErrInvalid, tool, len(tool), maxTool)
	}
	if strings.ContainsFunc(tool, func(r rune) bool { return r == unicode.ReplacementChar || unicode.IsControl(r) }) {
		return fmt.Errorf("%w: the tool name %q has control characters or broken UTF-8", ErrInvalid, tool)
	}
	return nil
}

// checkShared returns an error for a shared name that is not "" and no valid key.
func checkShared(name string) error {
	if name == "" {
		return nil
	}
	return checkKey(name)
}

// checkID returns an error for an ID that is too long or has other characters than those of an ID.
func checkID(id string) error {
	if len(id) > maxID || strings.ContainsFunc(id, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '/' || c == '-' || c == '_')
	}) {
		return fmt.Errorf("%w: the ID %.40q; it must have at most %d letters, digits, '/', '-' and '_'", ErrInvalid, id, maxID)
	}
	return nil
}

// check returns an error when a value in r is impossible. The upper bounds are far beyond any machine (1 PiB, 2^40 kills, a hundred years):
// they catch damage, not large runs.
func (r Run) check() error {
	for _, size := range []struct {
		name  string
		value limit.Bytes
	}{{"peak", r.Peak}, {"peak_anon", r.PeakAnon}, {"limit", r.Limit}} {
		if size.value < 0 || size.value > maxSize {
			return fmt.Errorf("%w: %s is %d bytes", ErrInvalid, size.name, size.value)
		}
	}
	for _, count := range []struct {
		name  string
		value int
	}{{"oom_kills", r.OOMKills}, {"killed_children", r.KilledChildren}} {
		if count.value < 0 || count.value > maxCount {
			return fmt.Errorf("%w: %s is %d", ErrInvalid, count.name, count.value)
		}
	}
	if r.Duration < 0 || r.Duration > maxSeconds*time.Second {
		return fmt.Errorf("%w: the duration is %v", ErrInvalid, r.Duration)
	}
	for _, n := range []int64{r.Tokens, int64(r.Answers), r.AnswerP99} {
		if n < 0 || n > 1<<50 {
			return fmt.Errorf("%w: %d tokens or answers", ErrInvalid, n)
		}
	}
	if !(r.Cost >= 0 && r.Cost <= maxCost && r.PlanCost >= 0 && r.PlanCost <= maxCost) { // not a number fails too
		return fmt.Errorf("%w: it cost %v and %v", ErrInvalid, r.Cost, r.PlanCost)
	}
	if err := checkID(r.ID); err != nil {
		return err
	}
	if err := checkVariant(r.Variant); err != nil {
		return err
	}
	for _, word := range []string{r.Method, string(r.Outcome), r.Layer} {
		if len(word) > maxWord {
			return fmt.Errorf("%w: %.20q… has %d bytes; at most %d", ErrInvalid, word, len(word), maxWord)
		}
	}
	return nil
}

// Spend is the use of models by the runs of a tool: the median of those kept that asked one, and the use that 95 of a hundred do not pass.
type Spend struct {
	Runs         int   `json:"runs"`
	TokensMedian int64 `json:"tokens_median"`
	TokensP95    int64 `json:"tokens_p95"`
	// The costs are in US dollars, those of a subscription's tokens as they would have been; 0 where no price is known.
	CostMedian float64 `json:"usd_median"`
	CostP95    float64 `json:"usd_p95"`
}

// SummarizeSpend returns the use of models by these runs, nil where none has asked one.
func SummarizeSpend(runs []Run) *Spend {
	var tokens []int64
	var costs []float64
	for _, r := range runs {
		if r.Tokens > 0 {
			tokens, costs = append(tokens, r.Tokens), append(costs, r.Cost+r.PlanCost)
		}
	}
	if len(tokens) == 0 {
		return nil
	}
	return &Spend{
		Runs: len(tokens), TokensMedian: percentile(tokens, 50), TokensP95: percentile(tokens, 95), CostMedian: percentile(costs, 50), CostP95: percentile(costs, 95),
	}
}

// percentile returns the smallest of the values that so many in a hundred do not pass. It sorts them.
func percentile[V cmp.Ordered](values []V, percent int) V {
	slices.Sort(values)
	return values[(len(values)*percent+99)/100-1]
}

// variantMark stands between a tool and its variant in a file. A Plimsoll that knows no variants takes
// "make › test" for a tool, keeps it, and goes on under "make". So the schema is the same.
const variantMark = " › "

// maxVariant bounds a variant, in bytes.
const maxVariant = 100

// briefRun is the duration below which a run is taken for a question (a version, a help text)
// and not for work.
const briefRun = 2 * time.Second

// historyKey returns the key of a variant's history in a file.
func historyKey(tool, variant string) string {
	if variant == "" {
		return tool
	}
	return tool + variantMark + variant
}

// splitHistoryKey returns the tool and the variant of a key that historyKey made.
func splitHistoryKey(name string) (tool, variant string) {
	tool, variant, _ = strings.Cut(name, variantMark)
	return tool, variant
}

// checkVariant returns an error for a variant that is too long, or has characters that a tool's name may not have.
func checkVariant(variant string) error {
	if variant == "" {
		return nil
	}
	if len(variant) > maxVariant || strings.Contains(variant, variantMark) {
		return fmt.Errorf("%w: the variant %.40q has %d bytes; it must have at most %d, without %q", ErrInvalid, variant, len(variant), maxVariant, variantMark)
	}
	return checkTool(variant)
}

// Variants returns the runs kept of a tool in a project by variant, each oldest first; nil when there are none. "" holds the runs without a
// variant, and those recorded before there were variants. A damaged file is treated as by [History.Runs].
func (h *History) Variants(projectKey, tool string) (map[string][]Run, error) {
	d, err := h.readUnlocked(projectKey)
	if err != nil || d == nil {
		return nil, err
	}
	return d.variants(tool), nil
}

// variants returns the runs of a tool by variant; that of the tool itself is "".
func (d *document) variants(tool string) map[string][]Run {
	found := map[string][]Run{}
	for _, s := range d.Tools {
		if of, variant := splitHistoryKey(s.Tool); of == tool {
			found[variant] = s.runs()
		}
	}
	return found
}
