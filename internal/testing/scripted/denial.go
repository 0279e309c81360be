package scripted

// Why a request was refused, for [Recorded.Cause] and [Stats.Refusals].
const (
	CauseBody       = "body"       // unreadable, or no JSON
	CauseKey        = "key"        // the wrong one
	CauseHistory    = "history"    // calls without results and the like: Request.Broken has the rule
	CauseContent    = "content"    // empty texts, images, marks, prefill: Options.Strict
	CauseParameter  = "parameter"  // a parameter without its beta, or beside one it excludes
	CauseSignature  = "signature"  // reasoning that the provider did not sign, or that was changed
	CausePrefix     = "prefix"     // reasoning that is bound to another conversation
	CauseCompaction = "compaction" // a compaction request or block that the provider does not take
	CauseOverflow   = "overflow"   // the input is too long
	CauseFault      = "fault"      // Options.Fault
	CausePath       = "path"       // an unknown path
)

// A denial is a refusal in the provider's own words.
type denial struct {
	cause string
	words string
	code  string // Messages: of error.details
}

func (d *denial) Error() string { return d.words }

func deny(cause, words string) error { return &denial{cause: cause, words: words} }
