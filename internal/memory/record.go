package memory

import (
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/limit"
)

// Kind is the kind of a record.
type Kind string

const (
	KindEpisode Kind = "episode" // a passage of a conversation, word for word
	KindFact    Kind = "fact"    // a statement that was drawn from an episode
	KindNote    Kind = "note"    // a text that an agent or a person wrote down to keep
	KindPin     Kind = "pin"     // a standing instruction of the user
)

// Origin is the author of the words that a record holds, or is drawn from. User words are trusted, those of tools never.
// What is derived from several records has the lowest of their origins ([Lowest]).
type Origin string

const (
	OriginUser  Origin = "user"  // known to have been typed by a person
	OriginAgent Origin = "agent" // written by a model, or by a program in its name
	OriginTool  Origin = "tool"  // all else: results of tools, pages, files, text that only looks like a person's
)

// Phrase returns from whom something is, for a person: "from you", "from an agent".
func (o Origin) Phrase() string {
	switch o {
	case OriginUser:
		return "from you"
	case OriginAgent:
		return "from an agent"
	}
	return "from a tool, a file or a page"
}

// trust returns how far an origin is trusted: 2 for the user, 1 for an agent, 0 for anything else.
func (o Origin) trust() int {
	switch o {
	case OriginUser:
		return 2
	case OriginAgent:
		return 1
	}
	return 0
}

// Lowest returns the least trusted of some origins, and OriginTool when there is none.
func Lowest(origins ...Origin) Origin {
	if len(origins) == 0 {
		return OriginTool
	}
	low := OriginUser
	for _, o := range origins {
		if o.trust() < low.trust() {
			low = o
		}
	}
	if low.trust() == 0 {
		return OriginTool
	}
	return low
}

// Record is one thing that is remembered.
type Record struct {
	// ID sorts by the time of recording and cannot be guessed. [Store.Add] gives it.
	ID     string `json:"id"`
	Kind   Kind   `json:"kind"`   // empty means KindEpisode
	Origin Origin `json:"origin"` // empty means OriginTool
	// Namespace is "user", "project/ID" or "agent/NAME".
	Namespace string `json:"namespace"`
	// Scope is a digest, in hexadecimal, of the credential that the conversation was held with; "" if there was none.
	Scope string `json:"scope,omitempty"`
	// Text is UTF-8; that of an episode is word for word and has at most MaxEpisode bytes, of a note MaxNote.
	Text   string `json:"text"`
	Source Source `json:"source,omitzero"`
	// Said is the time when the words were said (for notes: written), as far as that is known, else when they were recorded.
	Said time.Time `json:"said"`
	// Recorded is set by Add, to the millisecond.
	Recorded time.Time `json:"recorded"`
	// Count is the number of times that the identical passage came; at least 1.
	Count int `json:"count"`
	// From are the ids of the records that this one is derived from.
	From []string `json:"from,omitempty"`
	Fact *Fact    `json:"fact,omitempty"` // set for facts
	// Quarantined records wait for a person's approval: List returns them, Search never does.
	Quarantined bool `json:"quarantined,omitempty"`
	// Recalled is the time when the record was last given to a program; the zero time means never.
	Recalled time.Time `json:"recalled,omitzero"`
	// Withheld is set by Search, List and Get where a person took the record back, or one about the same: it is not given by itself.
	Withheld bool `json:"withheld,omitempty"`
}

// Standing reports whether a record is a standing instruction that a person gave in a conversation.
func (r *Record) Standing() bool { return r.Fact != nil && r.Fact.Standing && r.Origin == OriginUser }

// Source is the place where the words of a record stood.
type Source struct {
	Client       string `json:"client,omitempty"`       // or the name of the program that wrote it
	Run          string `json:"run,omitempty"`          // id of a run
	Conversation string `json:"conversation,omitempty"` // id of a conversation; what is in one is neighbourly
	Turn         int    `json:"turn,omitempty"`         // place in the conversation, from 1; passages of one message share it
	Role         string `json:"role,omitempty"`         // as the dialect calls it
	Speaker      string `json:"speaker,omitempty"`      // a name, where there are several
	Tool         string `json:"tool,omitempty"`         // the tool whose result it is
	File         string `json:"file,omitempty"`         // path of a file that it is about
}

// Fact is the content of a record of KindFact: subject, attribute and value, and what it rests on.
type Fact struct {
	Subject   string `json:"subject"`
	Attribute string `json:"attribute"`
	Value     string `json:"value"`
	// Quote stands word for word in the record that has the id Episode.
	Quote   string `json:"quote"`
	Episode string `json:"episode"`
	// ValidFrom and ValidUntil bound when it is true; zero times mean that no such bound is known.
	ValidFrom  time.Time `json:"valid_from,omitzero"`
	ValidUntil time.Time `json:"valid_until,omitzero"`
	// Expired is the time when it was learned that the fact is no longer true; the zero time means that it still is.
	Expired    time.Time `json:"expired,omitzero"`
	Confidence float64   `json:"confidence,omitempty"` // 0 to 1
	// Standing says that it is an instruction for every conversation, which a person gave.
	Standing bool `json:"standing,omitempty"`
}

// validAt reports whether a fact is valid at t: from ValidFrom on and before ValidUntil, whether it has Expired since or not. For the zero t it
// reports whether the fact is valid now and has not Expired.
func (f *Fact) validAt(t, now time.Time) bool {
	if t.IsZero() {
		return f.Expired.IsZero() && (f.ValidUntil.IsZero() || now.Before(f.ValidUntil))
	}
	return !t.Before(f.ValidFrom) && (f.ValidUntil.IsZero() || t.Before(f.ValidUntil))
}

// Bounds of one record, in bytes.
const (
	MaxEpisode = 2 << 10
	MaxNote    = 100_000
	maxSmall   = 256 // a name, an id, a path's end
	maxFrom    = 64
)

// check returns an error if a record must not be added.
func (r *Record) check() error {
	bad := func(field, value, want string) error {
		return fmt.Errorf("a record's %s is %q: %s", field, limit.Short(value, 80), want)
	}
	most := MaxEpisode
	switch r.Kind {
	case KindEpisode:
	case KindNote:
		most = MaxNote
	case KindFact, KindPin:
	default:
		return bad("kind", string(r.Kind), "it is episode, fact, note or pin")
	}
	switch r.Origin {
	case OriginUser, OriginAgent, OriginTool:
	default:
		return bad("origin", string(r.Origin), "it is user, agent or tool")
	}
	if err := checkNamespace(r.Namespace); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(r.Text) == "":
		return bad("text", r.Text, "there is nothing to remember in it")
	case !utf8.ValidString(r.Text):
		return bad("text", r.Text, "it is not UTF-8")
	case len(r.Text) > most:
		return fmt.Errorf("%w: the text of a record has %d bytes and begins with %q; at most %d are kept of one %s: split it", ErrTooLarge, len(r.Text), limit.Short(r.Text, 40), most, r.Kind)
	case len(r.From) > maxFrom:
		return fmt.Errorf("a record is derived from %d others; at most %d are kept", len(r.From), maxFrom)
	case (r.Fact != nil) != (r.Kind == KindFact):
		return bad("kind", string(r.Kind), "a fact, and nothing else, has a Fact")
	}
	small := map[string]string{
		"scope": r.Scope, "client": r.Source.Client, "run": r.Source.Run, "conversation": r.Source.Conversation, "role": r.Source.Role,
		"speaker": r.Source.Speaker, "tool": r.Source.Tool, "file": r.Source.File,
	}
	if f := r.Fact; f != nil {
		small["subject"], small["attribute"], small["episode"] = f.Subject, f.Attribute, f.Episode
		if len(f.Value) > MaxEpisode || len(f.Quote) > MaxEpisode {
			return fmt.Errorf("%w: a fact's value has %d bytes and its quote %d; at most %d are kept of each", ErrTooLarge, len(f.Value), len(f.Quote), MaxEpisode)
		}
	}
	for field, value := range small {
		if len(value) > maxSmall || !utf8.ValidString(value) {
			return bad(field, value, fmt.Sprintf("it is UTF-8 and at most %d bytes", maxSmall))
		}
	}
	return nil
}

// checkNamespace returns an error if the name of a namespace is invalid.
func checkNamespace(name string) error {
	folder, rest, _ := strings.Cut(name, "/")
	odd := strings.IndexFunc(rest, func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }) >= 0
	if name == "user" || (folder == "project" || folder == "agent") && rest != "" && len(name) <= maxSmall && !odd {
		return nil
	}
	return fmt.Errorf("a record's namespace is %q: it is user, project/ID or agent/NAME, with at most %d bytes", limit.Short(name, 80), maxSmall)
}

// An id is 128 bits in base32: 48 of milliseconds since 1970, 16 that count within one of them, and 64 of chance. Its letters are in the
// order of their values, so that ids sort as texts like the times in them.
var idCoding struct {
	once sync.Once
	made *base32.Encoding
}

// coding returns the base32 encoding of ids, made at its first use.
func coding() *base32.Encoding {
	idCoding.once.Do(func() {
		idCoding.made = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)
	})
	return idCoding.made
}

const idLen = 26

type recordID [16]byte

// String returns the id as people write it.
func (id recordID) String() string { return coding().EncodeToString(id[:]) }

// time returns when the id was made, to the millisecond.
func (id recordID) time() time.Time {
	var ms int64
	for _, b := range id[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms).UTC()
}

// idPrefix returns the first bytes of the ids that are made at a time; ms is milliseconds since 1970.
func idPrefix(ms int64) (begin [6]byte) {
	for i := range begin {
		begin[i] = byte(ms >> (40 - 8*i))
	}
	return begin
}

// parseID parses an id as people write it. Anything else is an [ErrNotFound].
func parseID(text string) (recordID, error) {
	var id recordID
	if len(text) == idLen {
		if n, err := coding().Decode(id[:], []byte(text)); err == nil && n == len(id) && id.String() == text {
			return id, nil
		}
	}
	return id, fmt.Errorf("%w: %q is not the id of a record, which has %d letters and digits", ErrNotFound, limit.Short(text, 40), idLen)
}

// idSource makes ids that grow.
type idSource struct {
	mu   sync.Mutex
	last int64
	seq  uint16
}

// next returns a new id: the time in milliseconds, a count within that, and random bytes. Ids of one process only grow, also when the clock
// is set back.
func (s *idSource) next(now time.Time) recordID {
	s.mu.Lock()
	defer s.mu.Unlock()
	ms := max(now.UnixMilli(), s.last)
	switch {
	case ms > s.last:
		s.last, s.seq = ms, 0
	case s.seq == 1<<16-1:
		s.last, s.seq = ms+1, 0
	default:
		s.seq++
	}
	var id recordID
	begin := idPrefix(s.last)
	copy(id[:], begin[:])
	id[6], id[7] = byte(s.seq>>8), byte(s.seq)
	_, _ = rand.Read(id[8:]) // never fails
	return id
}
