package memories

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/capture"
	"github.com/plimsoll/plimsoll/internal/memory/newest"
	"github.com/plimsoll/plimsoll/internal/memory/notes"
	"github.com/plimsoll/plimsoll/internal/memory/recall"
	"github.com/plimsoll/plimsoll/internal/memory/standing"
)

// Prompt is a prompt that something of the memory may be added to.
type Prompt struct {
	Text string
	// First is true for the first prompt of its conversation, which also gets what is pinned and the standing instructions.
	First        bool
	Conversation string
	Recalled     []string // the lines that were added to its conversation before
	// Namespaces are searched, with the records of Scope and of none, or with AllScopes of every one.
	Namespaces []string
	Scope      string
	AllScopes  bool
	Pins       []memory.Record // see [Pinned]
	// Explain searches also for a prompt that nothing is added to, for what is missed.
	Explain bool
}

// Gift is a record that is added to a prompt.
type Gift struct {
	recall.Line
	// Why says in one line why it is added.
	Why string `json:"why"`

	line string // as it is added
}

// Gifts is the answer to a [Prompt]: what is added to it, and what else was found.
type Gifts struct {
	Given  []Gift        `json:"given"`
	Missed []recall.Miss `json:"missed"`
	// Why says why nothing that was said before is added; "" if something is.
	Why string `json:"why,omitempty"`
}

// Why something is given.
const (
	whyPinned   = "pinned"
	whyStanding = "a standing instruction"
	whyFound    = "found by: "
	whyTaken    = "taken back, until plimsoll memory not --undo " // with the id
)

// Bounds of what is added to one prompt. What is pinned has its own, of the profile.
const (
	lineBytes       = 600
	headBytes       = 96 // of a line, for its origin, date and id
	plainBytes      = 300
	maxInstructions = 10
	instructionRoom = 1 << 10
)

// Text returns what is added to the prompt, "" for nothing.
func (g Gifts) Text() string {
	lines := make([]string, len(g.Given))
	for i := range g.Given {
		lines[i] = g.Given[i].line
	}
	return capture.Wrap(lines)
}

// Choose returns what to add to a prompt, and what was found and is not, with the reasons. store may be nil if nothing was ever kept. Whoever adds
// something to a prompt, or says what would be added, asks it.
func Choose(ctx context.Context, store *memory.Store, p Prompt, now time.Time) (Gifts, error) {
	c := choice{p: p, before: strings.Join(p.Recalled, "\n"), out: Gifts{Given: []Gift{}, Missed: []recall.Miss{}}}
	if p.First {
		c.room = 1 << 20
		for _, r := range p.Pins {
			c.addGift(recall.Line{Record: r, Count: 1}, whyPinned)
		}
	}
	if store == nil {
		c.out.Why = "nothing was ever kept"
		return c.out, nil
	}
	query := memory.Query{Namespaces: p.Namespaces, Scope: p.Scope, AllScopes: p.AllScopes}
	if p.First {
		all, err := store.Standing(ctx, query)
		if err != nil {
			return Gifts{}, err
		}
		c.room = instructionRoom
		n := len(c.out.Given)
		for _, r := range all {
			if len(c.out.Given) == n+maxInstructions {
				c.addMissed(r, 0, "ten standing instructions are given already")
				continue
			}
			c.addGift(recall.Line{Record: r, Count: max(r.Count, 1)}, whyStanding)
		}
	}
	asked := recall.Read(p.Text)
	if c.out.Why = asked.Why; asked.Why != "" && !p.Explain {
		return c.out, nil
	}
	query.Text, query.Origins, query.Loose, query.Limit = asked.Query, []memory.Origin{memory.OriginUser}, true, recall.Candidates
	found, err := store.Search(ctx, query)
	if err != nil {
		return Gifts{}, err
	}
	kept := found.Items[:0]
	var taken []memory.Record // back
	for _, i := range found.Items {
		whole := i.Record
		cut := cutInstructions(&i.Record)
		by := ""
		if i.Withheld {
			by = store.WithheldBy(&i.Record)
		}
		why := ""
		switch {
		case cut && i.Text == "", i.Standing():
			why = "a standing instruction, which the first prompt of a conversation gets"
		case by != "":
			why = whyTaken + by
			taken = append(taken, i.Record)
		case !isTrusted(ctx, store, &i.Record):
			why = "not your own words, or drawn from somebody else's"
		case i.Source.Conversation != "" && i.Source.Conversation == p.Conversation:
			why = "said in this conversation" // it stands there, unless a compaction took it out, and then its summary does
		default:
			kept = append(kept, i)
			continue
		}
		c.addMissed(whole, i.Score, why)
	}
	// What took the place of something, or was replaced by it, is about the same: without the one the other is not given either.
	found.Items = slices.DeleteFunc(kept, func(i memory.Item) bool {
		n := slices.IndexFunc(taken, func(t memory.Record) bool { return newest.Replaces(t.Text, i.Text) || newest.Replaces(i.Text, t.Text) })
		if n >= 0 {
			c.addMissed(i.Record, i.Score, whyTaken+taken[n].ID)
		}
		return n >= 0
	})
	// What a line says of the record that it replaced is added as well, so that one has to be fit for it too, and its text is that without instructions.
	for i := range found.Items {
		if r := found.Items[i].Replaced; r != nil {
			found.Items[i].Replaced = nil
			if n := slices.IndexFunc(found.Items, func(o memory.Item) bool { return o.ID == r.ID }); n >= 0 {
				found.Items[i].Replaced = &memory.Replaced{ID: r.ID, Text: found.Items[n].Text, Said: r.Said}
			}
		}
	}
	decided := recall.Decide(asked, found, now)
	c.room = 1 << 20 // its lines are counted
	for _, l := range decided.Given {
		c.addGift(l, whyFound+strings.Join(l.Words, " "))
	}
	c.out.Missed, c.out.Why = append(c.out.Missed, decided.Missed...), decided.Why
	return c.out, nil
}

// cutInstructions cuts the standing instructions out of the text of an episode, because they are given by themselves for as long as they are
// in force. It reports whether there were any.
func cutInstructions(r *memory.Record) bool {
	if r.Kind != memory.KindEpisode {
		return false
	}
	all := standing.Find(r.Text)
	for _, i := range all {
		r.Text = strings.Replace(r.Text, i.Sentence, "", 1)
	}
	if len(all) > 0 {
		r.Text = strings.Join(strings.Fields(r.Text), " ")
	}
	return len(all) > 0
}

// choice is a [Choose] at work.
type choice struct {
	p      Prompt
	before string
	room   int // bytes that are left for lines of the present sort
	out    Gifts
}

// addMissed enters a record that was found and is not added to the prompt, with the reason.
func (c *choice) addMissed(r memory.Record, score float64, why string) {
	c.out.Missed = append(c.out.Missed, recall.Miss{Record: r, Score: score, Why: why})
}

// addGift adds a line to the gifts, unless it is there already. A line that is not in the user's own words, stands in the conversation or has no room
// is entered as missed instead.
func (c *choice) addGift(l recall.Line, why string) {
	r := l.Record
	_, words, _ := strings.Cut(capture.FormatRecord(r, plainBytes), "]: ") // how often it was said may have changed since it was given
	size := lineBytes
	if why == whyPinned { // whole: what stands at its end counts as well
		size = int(notes.MaxProfile) + headBytes
	}
	said := r
	said.Text = l.SentenceWithin(size - headBytes)
	line := capture.FormatRecord(said, size)
	switch {
	case r.Origin != memory.OriginUser || r.Quarantined || words == "":
		c.addMissed(r, l.Score, "not your own words")
	case slices.ContainsFunc(c.out.Given, func(g Gift) bool { return g.ID == r.ID || g.Text == r.Text }):
		// said once
	case strings.Contains(c.before, words):
		c.addMissed(r, l.Score, "given to this conversation before")
	case strings.Contains(c.p.Text, words):
		c.addMissed(r, l.Score, "it stands in the prompt")
	case len(line)+1 > c.room:
		c.addMissed(r, l.Score, "no room is left for it")
	default:
		c.room -= len(line) + 1
		c.out.Given = append(c.out.Given, Gift{Line: l, Why: why, line: line})
	}
}

// isTrusted reports whether a record is the user's own, and so are all records that it was derived from and that still exist. The writer of a
// record may have claimed a higher origin than it had.
func isTrusted(ctx context.Context, store *memory.Store, r *memory.Record) bool {
	if r.Origin != memory.OriginUser || r.Quarantined {
		return false
	}
	for _, id := range r.From {
		sources, err := store.Get(ctx, id, 0)
		if err == nil && slices.ContainsFunc(sources, func(s memory.Record) bool { return s.ID == id && s.Origin != memory.OriginUser }) {
			return false
		}
	}
	return true
}

// Pinned returns the standing instructions of the profile that a person has confirmed, and the pins of namespaces. store may be nil.
func Pinned(ctx context.Context, c *core.Core, store *memory.Store, namespaces []string) ([]memory.Record, error) {
	all, err := profileRecords(c)
	if err != nil || store == nil {
		return all, err
	}
	var pins []memory.Record
	for _, namespace := range namespaces {
		some, err := store.Pins(ctx, namespace)
		if err != nil {
			return nil, err
		}
		pins = append(pins, some...)
	}
	for i, e := range all { // its record, where there is one, is told to whom it was given
		if n := slices.IndexFunc(pins, func(r memory.Record) bool {
			return r.Text == e.Text && r.Namespace == e.Namespace && r.Origin == e.Origin
		}); n >= 0 {
			all[i] = pins[n]
		}
	}
	return append(all, pins...), nil
}

// profileRecords returns the confirmed entries of the profile as records without an id of the memory.
func profileRecords(c *core.Core) (all []memory.Record, err error) {
	profile, err := OpenProfile(c)
	if err != nil {
		return nil, err
	}
	text, err := profile.InForce()
	if err != nil {
		return nil, err
	}
	at, err := profile.ConfirmedAt()
	if err != nil {
		return nil, err
	}
	for _, e := range notes.Entries(text) {
		all = append(all, memory.Record{
			ID: e.ID, Kind: memory.KindPin, Origin: memory.OriginUser, Namespace: UserNamespace, Text: e.Text, Said: at, Source: memory.Source{File: notes.ProfileFile},
		})
	}
	return all, nil
}
