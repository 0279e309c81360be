package repeat

// Options bound a [Detector]. Zero values mean the defaults.
type Options struct {
	// Window is how many calls are remembered (10).
	Window int
	// Identical is how many calls in a row that are the same, with the same result, are a
	// loop (4).
	Identical int
}

// Call is a call of a tool that has ended.
type Call struct {
	Name      string
	Arguments string // as the model wrote them
	Result    uint64 // a digest of what came back, see [Digest]
	Failed    bool
}

// Kind is the rule that a loop was found by.
type Kind string

// The kinds.
const (
	KindIdentical Kind = "identical" // one call again and again
	KindCycle     Kind = "cycle"     // A-B-A-B, A-B-C-A-B-C
	KindErrors    Kind = "errors"    // one tool fails whatever it is given
)

// Finding is a loop.
type Finding struct {
	Kind   Kind
	Nudge  string // for the model
	Detail string // for people
}

// Detector looks for loops in the calls of one query. It belongs to one goroutine.
type Detector struct{ o Options }

// New makes a detector.
func New(o Options) *Detector { return &Detector{o: o} }

// Observe takes in the calls of one step, in their order, and tells the first loop that they close.
func (d *Detector) Observe(step []Call) (Finding, bool) { return Finding{}, false }

// Digest is the digest of a result.
func Digest(text string) uint64 { return 0 }

// Bytes is how much memory the detector holds.
func (d *Detector) Bytes() int64 { return 0 }
