package memories

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/memory"
)

// Namespaces returns the namespaces that a conversation in one of them is given something of.
func Namespaces(namespace string) []string {
	if namespace == UserNamespace || namespace == "" {
		return []string{UserNamespace}
	}
	return []string{UserNamespace, namespace}
}

// WouldGive is the answer of [PreviewGifts].
type WouldGive struct {
	Gifts
	// On reports whether the memory is on: otherwise nothing is added to any prompt, and Note says so.
	On   bool   `json:"on"`
	Note string `json:"note,omitempty"`
}

// PreviewGifts returns what would be added now to a prompt that begins a conversation in a namespace; "" or "project" is that of the working
// directory's project. It decides as the proxy of a run does, by words alone, also while the memory is off.
func PreviewGifts(ctx context.Context, c *core.Core, prompt, namespace string) (w WouldGive, err error) {
	if namespace == "" || namespace == "project" {
		namespace = ProjectNamespace("")
	}
	settings, err := c.Config.For("")
	if err != nil {
		return w, err
	}
	if w.On = settings.Memory.State == config.MemoryOn; !w.On {
		w.Note = "nothing is added while memory is not on ([memory] on = true)"
	}
	p := Prompt{Text: prompt, First: true, Explain: true, Namespaces: Namespaces(namespace), AllScopes: true}
	var store *memory.Store
	if Exists(c) {
		m, err := Open(c, Options{})
		if err != nil {
			return w, err
		}
		defer func() { err = errors.Join(err, m.Close()) }()
		store = m.Store
	}
	if p.Pins, err = Pinned(ctx, c, store, p.Namespaces); err != nil {
		return w, err
	}
	w.Gifts, err = Choose(ctx, store, p, time.Now())
	return w, err
}

// Given is a record with one of the times at which it was given to somebody, and why.
type Given struct {
	memory.Record
	memory.Use
	Why string `json:"why"`
}

// Given returns the records that were given to somebody, with when, to whom and why, the newest first.
func (m *Memory) Given(ctx context.Context, to memory.GivenFilter) ([]Given, error) {
	list, err := m.Store.Given(ctx, to)
	out := make([]Given, 0, len(list))
	for _, g := range list {
		why := "found by its words"
		switch {
		case g.Use.How == memory.UseSearch:
			why = "an agent searched for it"
		case g.Record.Kind == memory.KindPin:
			why = whyPinned
		case g.Record.Standing():
			why = whyStanding
		case g.Use.Words != "":
			why = whyFound + g.Use.Words
		}
		out = append(out, Given{g.Record, g.Use, why})
	}
	return out, err
}

// TakenBack is a record that a person took back.
type TakenBack struct {
	memory.Withheld
	// Text has its words, "" where the record is there no longer.
	Text string `json:"text,omitempty"`
}

// TakeBack takes records back: from the next request on, neither they nor what is about the same are added to prompts by themselves. With undo
// they may be given again. It stops at the first error. Inside a run it is refused with [ErrInRun].
func (m *Memory) TakeBack(ctx context.Context, undo bool, ids ...string) error {
	if err := m.requirePerson(); err != nil {
		return err
	}
	for _, given := range ids {
		id, err := m.findPinRecord(ctx, given)
		if err != nil {
			return err
		}
		if undo {
			if err := m.giveAgain(ctx, id); err != nil {
				return err
			}
			continue
		}
		found, err := m.Show(ctx, id, 0)
		if err != nil {
			return err
		}
		if found[0].Kind == memory.KindPin {
			return fmt.Errorf("%s is pinned: plimsoll memory pin --remove takes it out of the profile; plimsoll memory pin lists the entries", given)
		}
		if err := m.Store.Withhold(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// giveAgain undoes the taking back of one record. It is an error if that record was not taken back; the error names the one that was if the
// two are about the same.
func (m *Memory) giveAgain(ctx context.Context, id string) error {
	err := m.Store.GiveAgain(ctx, id)
	if !errors.Is(err, memory.ErrNotFound) {
		return err
	}
	found, unknown := m.Show(ctx, id, 0)
	if unknown != nil {
		return unknown
	}
	if by := m.Store.WithheldBy(&found[0]); by != "" {
		return fmt.Errorf("%s was not taken back, but is about the same as %s, which was: plimsoll memory not %s --undo", id, by, by)
	}
	return fmt.Errorf("%s was not taken back; plimsoll memory not lists what was", id)
}

// TakenBack returns what was taken back, the latest first.
func (m *Memory) TakenBack(ctx context.Context) ([]TakenBack, error) {
	list, err := m.Store.Withheld()
	if err != nil {
		return nil, err
	}
	out := make([]TakenBack, 0, len(list))
	texts := map[string]string{}
	var ids []string
	for _, w := range list {
		ids = append(ids, w.ID)
	}
	if len(ids) > 0 {
		if err := m.eachRecord(ctx, memory.Filter{IDs: ids, AllScopes: true}, func(r memory.Record) error { texts[r.ID] = r.Text; return nil }); err != nil {
			return nil, err
		}
	}
	for _, w := range list {
		out = append(out, TakenBack{w, texts[w.ID]})
	}
	return out, nil
}
