package memories

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/notes"
)

// Forgetting selects the records to forget. All fields that are set must apply; IDs and what Query finds are taken together.
type Forgetting struct {
	IDs []string
	// Query holds words: everything that a search for them finds is selected.
	Query        string
	Conversation string
	// Rest selects by namespace, time, kind, origin and run.
	Rest Query
}

// maxForgotten bounds how many records a search may select; a person who means more selects by time or conversation.
const maxForgotten = memory.MaxLimit

// forgetFilter returns the filter that selects the records. It is an error if Query finds more than maxForgotten; if it finds none, the
// filter matches nothing.
func (m *Memory) forgetFilter(ctx context.Context, o Forgetting) (memory.Filter, error) {
	f, err := o.Rest.filter()
	if err != nil {
		return f, err
	}
	f.Limit, f.Offset = 0, 0
	f.Conversation = o.Conversation
	f.IDs = slices.Clone(o.IDs)
	if o.Query != "" {
		q := o.Rest
		q.Text, q.Limit = o.Query, maxForgotten
		found, err := m.Search(ctx, q)
		if err != nil {
			return f, err
		}
		if found.Total > maxForgotten {
			return f, fmt.Errorf("%d records have words of --query %q, at most %d are forgotten by a search: take rarer words, or add --before, --conversation or --kind", found.Total, o.Query, maxForgotten)
		}
		for _, i := range found.Items {
			f.IDs = append(f.IDs, i.ID)
		}
		if len(f.IDs) == 0 {
			f.IDs = []string{""} // nothing, and not everything
		}
	}
	return f, nil
}

// WouldForget lists the records that [Memory.Forget] would remove from the memory. If none matches, it is an error that the first of IDs is
// not known.
func (m *Memory) WouldForget(ctx context.Context, o Forgetting) ([]memory.Record, error) {
	f, err := m.forgetFilter(ctx, o)
	if err != nil {
		return nil, err
	}
	list, err := m.Store.WouldForget(ctx, f)
	if err == nil && len(list) == 0 && len(o.IDs) > 0 {
		_, err = m.Show(ctx, o.IDs[0], 0)
	}
	if list == nil {
		list = []memory.Record{}
	}
	return list, err
}

// ForgetPreview lists the records and places that a Forget would clear.
type ForgetPreview struct {
	Records []memory.Record `json:"records"`
	// Places are the other places of their words.
	Places []memory.Place `json:"places"`
}

// WouldForgetElsewhere returns the records that [Memory.WouldForget] has listed, with the other places of their words. An error is about
// places that could not be looked into.
func (m *Memory) WouldForgetElsewhere(ctx context.Context, list []memory.Record) (ForgetPreview, error) {
	places, err := m.Store.WouldForgetElsewhere(ctx, list)
	if places == nil {
		places = []memory.Place{}
	}
	return ForgetPreview{Records: list, Places: places}, err
}

// Forget removes records for good: from the memory, and their words from everything else that this program keeps. The entries of pins are
// taken out of the profile. Inside a run it is an error if one is not a note by an agent, and nothing is removed; there the notes go from the memory
// alone, and may come again: the same words may be somebody else's, elsewhere and later.
func (m *Memory) Forget(ctx context.Context, list []memory.Record) (memory.Forgotten, error) {
	if len(list) == 0 {
		return memory.Forgotten{Records: []string{}}, nil
	}
	var ids []string
	pins := false
	for _, r := range list {
		if m.fence.Inside() && (r.Kind != memory.KindNote || r.Origin != memory.OriginAgent) {
			return memory.Forgotten{}, fmt.Errorf("%s is %s %s: %w", r.ID, r.Kind, r.Origin.Phrase(), m.requirePerson())
		}
		ids = append(ids, r.ID)
		pins = pins || r.Kind == memory.KindPin
	}
	if m.fence.Inside() {
		for i := range list {
			if err := m.removeNote(ctx, &list[i]); err != nil {
				return memory.Forgotten{Records: ids[:i]}, err
			}
		}
		return memory.Forgotten{Records: ids}, nil
	}
	if pins {
		if err := m.unpinAll(ctx, list); err != nil {
			return memory.Forgotten{}, err
		}
	}
	return m.Store.Forget(ctx, memory.Filter{IDs: ids, AllScopes: true})
}

// removeNote removes a note by an agent, and its file.
func (m *Memory) removeNote(ctx context.Context, r *memory.Record) error {
	if notes.IsPath(r.Source.File) {
		files, err := m.Notes(ctx, r.Namespace, r.Source.Client)
		if err != nil {
			return err
		}
		if _, err := files.Execute(ctx, notes.Command{Command: "delete", Path: r.Source.File}); err != nil {
			return err
		}
	}
	err := m.Store.Remove(ctx, r.ID)
	if errors.Is(err, memory.ErrNotFound) { // it went with its file
		return nil
	}
	return err
}

// unpinAll takes the entries of pins out of the profile; their file would bring the records back.
func (m *Memory) unpinAll(ctx context.Context, list []memory.Record) error {
	p, err := m.Pins()
	if err != nil {
		return err
	}
	for _, e := range p.Entries {
		if slices.ContainsFunc(list, func(r memory.Record) bool { return r.Kind == memory.KindPin && r.Text == e.Text }) {
			if err := m.Profile.Unpin(ctx, e.ID); err != nil {
				return errors.Join(fmt.Errorf("take %s out of the profile", e.ID), err)
			}
		}
	}
	return nil
}
