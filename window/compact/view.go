package compact

import (
	"fmt"
	"slices"

	"github.com/plimsoll/plimsoll/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/window/wire"
)

// Patch is a checkpoint's: raw messages in the place of the client's [From,To).
type Patch = checkpoint.Patch

// A View is a client's request with what was done to its conversation before. It is not
// changed once it is made.
type View struct {
	Client  *wire.Request // as the client sent it, calls and results paired
	Request *wire.Request // with the checkpoint put in; Client itself without one
	base    *checkpoint.Checkpoint
}

// Replay puts a checkpoint into the request it was found for. Without one (nil) the view
// is the request.
func Replay(client *wire.Request, c *checkpoint.Checkpoint) (*View, error) {
	v := &View{Client: client, Request: client, base: c}
	if c == nil {
		return v, nil
	}
	if c.Covers > len(client.Messages) {
		return nil, fmt.Errorf("compact: a checkpoint of %d messages for a request of %d: look it up by the request's own chain", c.Covers, len(client.Messages))
	}
	var err error
	v.Request, err = patch(client, c.Patches)
	return v, err
}

// position is where a message of the client's stands in the view's request; of one that an earlier compaction took out it is where
// the next one that it left stands.
func (v *View) position(message int) int {
	if v.base == nil {
		return message
	}
	for i, e := range elements(len(v.Client.Messages), v.base.Patches) {
		if e.client >= message {
			return i
		}
	}
	return len(v.Request.Messages)
}

// Replayed tells whether a checkpoint was put in.
func (v *View) Replayed() bool { return v.base != nil }

// patch puts patches into a request.
func patch(r *wire.Request, patches []Patch) (*wire.Request, error) {
	d := r.Draft()
	for _, p := range patches {
		d.ReplaceMessages(p.From, p.To, p.With...)
	}
	return d.Build()
}

// Checkpoint is what is to be stored of a result: chain[i] is the digest of the client's
// messages 0..i. It is nil when nothing was done.
func Checkpoint[D ~[16]byte](v *View, res *Result, chain []D) *checkpoint.Checkpoint {
	if !res.Changed() || res.Covers < 1 || res.Covers > len(chain) {
		return nil
	}
	c := &checkpoint.Checkpoint{Chain: checkpoint.Digest(chain[res.Covers-1]), Covers: res.Covers, Generation: 1, Tokens: max(0, res.After), Patches: res.Patches}
	if v.base != nil {
		c.Generation = v.base.Generation + 1
	}
	return c
}

// Conversation names a conversation for listings and locks: the first 12 hexadecimal digits
// of the digest of its messages up to the task, which stay the same while it goes on.
func Conversation[D ~[16]byte](r *wire.Request, chain []D) string {
	if len(chain) == 0 {
		return ""
	}
	at := 0
	for i := range min(len(r.Messages), len(chain)) {
		if spoken(r, i) == byUser {
			at = i
			break
		}
	}
	d := [16]byte(chain[at])
	return fmt.Sprintf("%x", d[:6])
}

// An element is a message of a view: the client's, or raw.
type element struct {
	client int // -1 for raw
	raw    []byte
}

// elements lists what a request of n messages becomes by patches.
func elements(n int, patches []Patch) []element {
	list := make([]element, 0, n)
	at := 0
	for _, p := range patches {
		for ; at < p.From; at++ {
			list = append(list, element{client: at})
		}
		for _, raw := range p.With {
			list = append(list, element{-1, raw})
		}
		at = p.To
	}
	for ; at < n; at++ {
		list = append(list, element{client: at})
	}
	return list
}

// compose speaks of the client's messages what patches say of the view's: n is how many
// the client has, before what its view was made with. covers is how many of them the
// composition touches, or the earlier one did.
func compose(n int, before *checkpoint.Checkpoint, patches []Patch) (composed []Patch, covers int) {
	var old []Patch
	if before != nil {
		old, covers = before.Patches, before.Covers
	}
	list := elements(n, old)
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

// Lost are the client's messages that a compaction changed or took out, by their positions, without those that an earlier one
// had. They are still in the request of the view's client, as the client sent them.
func Lost(v *View, res *Result) []int {
	if !res.Changed() {
		return nil
	}
	gone := map[int]bool{}
	if v.base != nil {
		for _, p := range v.base.Patches {
			for i := p.From; i < p.To; i++ {
				gone[i] = true
			}
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
