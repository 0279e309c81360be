package compact

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/window/wire"
)

// Patch is a checkpoint's: raw messages in place of the client's messages [From,To).
type Patch = checkpoint.Patch

// A View is a client's request together with what was decided about its conversation before. It is not changed once it is made.
type View struct {
	Client  *wire.Request // as the client sent it
	Request *wire.Request // with the log put in; Client itself without one
	// Patches make Request of Client.
	Patches []Patch
	// Recalled are the texts from a memory that the log adds to prompts.
	Recalled   []string
	covers     int // number of the client's messages that the log is about
	generation int
}

// Replay returns the view of a request with the log of its conversation put in: the cut first, where there is one, then the decisions (see
// [checkpoint.Log]). Nil entries are left out. The error is a log of more messages than the request has, or an edit that failed.
func Replay(client *wire.Request, log ...*checkpoint.Checkpoint) (*View, error) {
	v := &View{Client: client, Request: client}
	for _, c := range log {
		if c == nil {
			continue
		}
		if c.Covers > len(client.Messages) {
			return nil, fmt.Errorf("compact: a checkpoint of %d messages for a request of %d: look it up by the request's own chain", c.Covers, len(client.Messages))
		}
		v.Patches = append(v.Patches, c.Patches...)
		v.Recalled = append(v.Recalled, c.Recalled...)
		v.covers, v.generation = c.Covers, max(v.generation, c.Generation)
	}
	if len(v.Patches) == 0 {
		return v, nil
	}
	var err error
	v.Request, err = applyPatches(client, v.Patches)
	return v, err
}

// Replayed reports whether the log changed the request.
func (v *View) Replayed() bool { return len(v.Patches) > 0 }

// Replaced returns the indices of the client's messages that the patches replace. ok is false if there are none, or if a patch also inserts
// or removes messages, so that messages of the view stand elsewhere than the client's.
func (v *View) Replaced() (at []int, ok bool) {
	for _, p := range v.Patches {
		if p.To-p.From != len(p.With) {
			return nil, false
		}
		for i := p.From; i < p.To; i++ {
			at = append(at, i)
		}
	}
	return at, len(at) > 0
}

// Generation returns how often the conversation was cut.
func (v *View) Generation() int { return v.generation }

// Covers returns the number of the client's messages, from the first on, that the log is about.
func (v *View) Covers() int { return v.covers }

// Frozen returns how many messages of the view's request stand for the client's first messages, of which it is given the number. If those
// were sent before, they must not change.
func (v *View) Frozen(messages int) int {
	n := messages
	for _, p := range v.Patches {
		if p.To > messages || p.From == messages && messages != v.covers { // at the end of what the log covers it was sent too
			break
		}
		n += len(p.With) - (p.To - p.From)
	}
	return n
}

// Amend returns the view with next as its request, which was made of the view's request by changes behind its first frozen messages; frozen
// is Frozen(sent), and sent how many of the client's messages were sent before. The patches are the decisions about the client's messages
// that lead to it, each about one of them or about neighbours; nil without changes. Cache marks are left out of what was changed: the
// client moves its own. The error says that a frozen message was changed, or that the changes cannot be made.
func (v *View) Amend(next *wire.Request, sent, frozen int) (*View, []Patch, error) {
	patches := patchesBetween(v.Request, next)
	if len(patches) == 0 {
		return v, nil, nil
	}
	if patches[0].From < frozen {
		return nil, nil, fmt.Errorf("compact: message %d was sent before and cannot be changed", patches[0].From)
	}
	if len(v.Request.Messages)-frozen != len(v.Client.Messages)-sent {
		return nil, nil, fmt.Errorf("compact: %d messages of the view stand for %d of the client's", len(v.Request.Messages)-frozen, len(v.Client.Messages)-sent)
	}
	by := sent - frozen
	for i := range patches {
		patches[i].From += by
		patches[i].To += by
	}
	out := &View{Client: v.Client, Recalled: v.Recalled, covers: v.covers, generation: v.generation}
	out.Patches = append(slices.Clone(v.Patches), patches...)
	for _, p := range patches { // a cut of this request covers its decisions: they must not be put in behind it once more
		out.covers = max(out.covers, coveredBy(p, len(v.Client.Messages)))
	}
	// What is sent now has to be what later requests get from the log, to the byte.
	var err error
	out.Request, err = applyPatches(v.Client, out.Patches)
	return out, patches, err
}

// Cut returns the view with next as its request, which was made of the view's request by any changes. Its patches replace all earlier
// decisions about the same messages of the client.
func (v *View) Cut(next *wire.Request) *View {
	patches := patchesBetween(v.Request, next)
	if len(patches) == 0 {
		return v
	}
	out := &View{Client: v.Client, Request: next, Recalled: v.Recalled, generation: v.generation}
	out.Patches, out.covers = v.composePatches(patches)
	return out
}

// patchesBetween returns the patches that turn the messages of from into those of to, apart from cache marks. They are found in one pass
// and need not be the smallest.
func patchesBetween(from, to *wire.Request) (patches []Patch) {
	if from == to {
		return nil
	}
	a, b := from.Messages, to.Messages
	same := func(i, j int) bool { return bytes.Equal(from.Raw(a[i].Span), to.Raw(b[j].Span)) }
	end := 0 // messages at the end that both have
	start := 0
	for start < len(a) && start < len(b) && same(start, start) {
		start++
	}
	for end < len(a)-start && end < len(b)-start && same(len(a)-1-end, len(b)-1-end) {
		end++
	}
	var places map[string][]int // of the messages of to between the two, by their bytes
	i, j := start, start
	for i < len(a)-end || j < len(b)-end {
		ni, nj := len(a)-end, len(b)-end
		if places == nil {
			places = map[string][]int{}
			for k := j; k < nj; k++ {
				raw := string(to.Raw(b[k].Span))
				places[raw] = append(places[raw], k)
			}
		}
		found := false
		for k := i; k < ni && !found; k++ {
			for _, at := range places[string(from.Raw(a[k].Span))] {
				if at >= j {
					ni, nj, found = k, at, true
					break
				}
			}
		}
		patches = append(patches, pairPatches(to, i, ni, j, nj)...)
		for i, j = ni, nj; i < len(a)-end && j < len(b)-end && same(i, j); i, j = i+1, j+1 {
		}
	}
	return patches
}

// pairPatches returns the patches that put messages [j,nj) of to in place of messages [i,ni) of another request: one patch for each message if
// there are equally many, so that each is a decision of its own, else one for all.
func pairPatches(to *wire.Request, i, ni, j, nj int) (patches []Patch) {
	if ni-i == nj-j {
		for ; i < ni; i, j = i+1, j+1 {
			patches = append(patches, Patch{From: i, To: i + 1, With: [][]byte{unmarked(to, j)}})
		}
		return patches
	}
	p := Patch{From: i, To: ni}
	for ; j < nj; j++ {
		p.With = append(p.With, unmarked(to, j))
	}
	return append(patches, p)
}

// unmarked returns a copy of a message without cache marks: a patch is kept, the body is not, and the client takes at most four marks,
// which it moves every turn.
func unmarked(r *wire.Request, message int) []byte {
	span := r.Messages[message].Span
	out := make([]byte, 0, span.Len())
	r.Unmarked(span, func(b []byte) { out = append(out, b...) })
	return out
}

// positionOf returns the index in the view's request of one of the client's messages; for one that was cut out, that of the next that was
// not; the number of messages if there is none.
func (v *View) positionOf(message int) int {
	for i, e := range patchedElements(len(v.Client.Messages), v.Patches) {
		if e.client >= message {
			return i
		}
	}
	return len(v.Request.Messages)
}

// applyPatches returns the request with the patches applied; a replaced message gets the client's cache marks of its position.
func applyPatches(r *wire.Request, patches []Patch) (*wire.Request, error) {
	d := r.Draft()
	for _, p := range patches {
		if len(p.With) == p.To-p.From {
			for i, raw := range p.With {
				d.ReplaceMessage(p.From+i, r.Remarked(p.From+i, raw))
			}
			continue
		}
		d.ReplaceMessages(p.From, p.To, p.With...)
	}
	return d.Build()
}

// After returns the view that res, a compaction of v, leads to.
func (v *View) After(res *Result) *View {
	return &View{Client: v.Client, Request: res.Request, Patches: res.Patches, Recalled: v.Recalled, covers: res.Covers, generation: v.generation + 1}
}

// Result returns a view that [View.Cut] made as the outcome of a compaction from before to after tokens.
func (v *View) Result(before, after int) Result {
	return Result{Request: v.Request, Patches: v.Patches, Covers: v.covers, Before: before, After: after}
}

// Checkpoint returns the entry to store for a compaction: chain[i] is the digest of the client's messages 0..i. It is nil when nothing was
// changed.
func Checkpoint[D ~[16]byte](v *View, res *Result, chain []D) *checkpoint.Checkpoint {
	if !res.Changed() || res.Covers < 1 || res.Covers > len(chain) {
		return nil
	}
	return &checkpoint.Checkpoint{
		Chain: checkpoint.Digest(chain[res.Covers-1]), Covers: res.Covers, Generation: v.generation + 1, Tokens: max(0, res.After),
		Patches: res.Patches, Recalled: v.Recalled,
	}
}

// Decisions returns the entries to store for patches that [View.Amend] returned. Each is stored under the digest of the client's messages
// up to the last one that the patch is about.
func Decisions[D ~[16]byte](patches []Patch, chain []D) (list []*checkpoint.Checkpoint) {
	for _, p := range patches {
		covers := coveredBy(p, len(chain))
		list = append(list, &checkpoint.Checkpoint{Chain: checkpoint.Digest(chain[covers-1]), Covers: covers, Patches: []Patch{p}})
	}
	return list
}

// coveredBy returns the number of the client's messages, at most n, under which a decision is stored: up to the last one that its patch
// replaces, or the one before which it inserts.
func coveredBy(p Patch, n int) int { return min(max(p.To, p.From+1), n) }

// Conversation returns a name for a conversation, for listings and locks: the first 12 hexadecimal digits of the digest of its messages up
// to the task, which stay the same while it goes on. at is the index of the message with the task, or the number of messages if there is
// none yet; without a chain the name is "".
func Conversation[D ~[16]byte](r *wire.Request, chain []D) (name string, at int) {
	if len(chain) == 0 {
		return "", 0
	}
	for at < min(len(r.Messages), len(chain)) && authorOf(r, at) != byUser {
		at++
	}
	d := [16]byte(chain[0])
	if at < len(chain) {
		d = chain[at]
	}
	return hex.EncodeToString(d[:6]), at
}

// An element is a message of a view: one of the client's, or a raw one.
type element struct {
	client int // index of the client's message; -1 for a raw one
	raw    []byte
}

// patchedElements returns the messages of a request of n messages once the patches are put in.
func patchedElements(n int, patches []Patch) []element {
	list := make([]element, 0, n)
	at := 0
	for _, p := range patches {
		for ; at < p.From; at++ {
			list = append(list, element{client: at})
		}
		for _, raw := range p.With {
			list = append(list, element{-1, raw})
		}
		at = max(at, p.To)
	}
	for ; at < n; at++ {
		list = append(list, element{client: at})
	}
	return list
}

// composePatches turns patches of the view's messages into patches of the client's, together with those of the log. covers is the number of
// the client's messages, from the first on, that all of them are about.
func (v *View) composePatches(patches []Patch) (composed []Patch, covers int) {
	n := len(v.Client.Messages)
	covers = v.covers
	list := patchedElements(n, v.Patches)
	for _, p := range slices.Backward(patches) {
		raw := make([]element, len(p.With))
		for i, w := range p.With {
			raw[i] = element{-1, w}
		}
		list = slices.Replace(list, p.From, p.To, raw...)
	}
	at := 0 // the client's next message
	var with [][]byte
	flush := func(until int) {
		if until > at || len(with) > 0 {
			composed = append(composed, Patch{From: at, To: until, With: with})
			covers = max(covers, until)
		}
		at, with = until+1, nil
	}
	for _, e := range list {
		if e.client < 0 {
			with = append(with, e.raw)
			continue
		}
		flush(e.client)
	}
	flush(n)
	return composed, covers
}

// Lost returns the indices of the client's messages that the compaction res changed or removed, without those that an earlier compaction
// had changed or removed already.
func Lost(v *View, res *Result) []int {
	if !res.Changed() {
		return nil
	}
	gone := map[int]bool{}
	for _, p := range v.Patches {
		for i := p.From; i < p.To; i++ {
			gone[i] = true
		}
	}
	var lost []int
	for _, p := range res.Patches {
		for i := p.From; i < min(p.To, len(v.Client.Messages)); i++ {
			if !gone[i] {
				lost = append(lost, i)
			}
		}
	}
	return lost
}
