package memtools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/notes"
	"github.com/plimsoll/plimsoll/internal/nearest"
	"github.com/plimsoll/plimsoll/limit"
)

// ManageArguments are the arguments of manage_memory, named as in LangMem.
type ManageArguments struct {
	Content string `json:"content,omitempty" jsonschema:"What to remember: one thing, in a sentence or a few"`
	Action  string `json:"action,omitempty" jsonschema:"create (default), update or delete"`
	ID      string `json:"id,omitempty" jsonschema:"Of the memory to update or delete"`
}

// maxContent bounds the content of one memory, in bytes. Longer texts belong into a file of the tool memory.
const maxContent = 16 << 10

var actions = []string{"create", "update", "delete"}

// Manage creates, updates or deletes a memory and returns the answer for the model. Where LangMem has words for it, it has those.
func (t *Toolset) Manage(ctx context.Context, in ManageArguments) (string, error) {
	if t.o.ReadOnly {
		return "", ErrReadOnly
	}
	if in.Action == "" {
		in.Action = "create"
	}
	content := strings.TrimSpace(strings.ToValidUTF8(in.Content, "\ufffd"))
	switch in.Action {
	case "create":
		if in.ID != "" {
			return "", errors.New("a memory that is created has no id yet: omit the id, or update the memory with this id")
		}
	case "update", "delete":
		if in.ID == "" {
			return "", fmt.Errorf("to %s a memory its id is needed; search_memory shows it", in.Action)
		}
	default:
		hint := ""
		if near := nearest.Names(in.Action, actions, 1); len(near) > 0 {
			hint = "; did you mean " + near[0] + "?"
		}
		return "", fmt.Errorf("invalid action %q: it must be one of %s%s", limit.Clip(in.Action, 40), strings.Join(actions, ", "), hint)
	}
	if in.Action != "delete" && content == "" {
		return "", errors.New("content is empty: say what to remember")
	}
	if len(content) > maxContent {
		return "", fmt.Errorf("content has %d bytes, a memory has at most %d: shorten it, or write it into a file with the tool memory", len(content), maxContent)
	}
	if in.Action == "create" {
		return t.createNote(ctx, content)
	}
	r, err := t.ownNote(ctx, in.ID)
	if err != nil {
		return "", err
	}
	if in.Action == "delete" {
		if err := t.o.Store.Remove(ctx, r.ID); err != nil {
			return "", err
		}
		return "Deleted memory " + r.ID, nil
	}
	r.Text = content
	if err := t.o.Store.Update(ctx, r); err != nil {
		return "", err
	}
	return "updated memory " + r.ID, nil
}

// createNote adds a note of the agent and returns the answer for the model. It is an error if the user had these words forgotten.
func (t *Toolset) createNote(ctx context.Context, content string) (string, error) {
	added, err := t.o.Store.Add(ctx, memory.Record{
		Kind: memory.KindNote, Origin: memory.OriginAgent, Namespace: t.o.Namespace, Scope: t.o.Scope, Text: content,
		Source: memory.Source{Client: t.o.Client, Run: t.o.Run, Conversation: t.o.Conversation},
	})
	if err != nil {
		return "", err
	}
	switch {
	case added.Refused > 0:
		return "", errors.New("not kept: the user had exactly this forgotten")
	case added.Merged > 0:
		return "memory " + added.IDs[0] + " says exactly that already", nil
	}
	return "created memory " + added.IDs[0], nil
}

// ownNote returns a record if an agent may change it: a note of an agent in this namespace that is not a file. Any other is an error.
func (t *Toolset) ownNote(ctx context.Context, id string) (memory.Record, error) {
	found, err := t.visibleRecords(ctx, id, 0)
	if err != nil {
		return memory.Record{}, err
	}
	switch r := found[0]; {
	case r.Kind == memory.KindNote && notes.IsPath(r.Source.File):
		return r, fmt.Errorf("memory %s is the file %s: change it with the tool memory", r.ID, r.Source.File)
	case r.Kind != memory.KindNote || r.Origin != memory.OriginAgent || r.Namespace != t.o.Namespace:
		return r, fmt.Errorf("memory %s is %s %s in %s: an agent changes only notes of agents in %s. Create a new one, or ask the user to run: plimsoll memory forget %s",
			r.ID, article(r.Kind), r.Origin.Phrase(), r.Namespace, t.o.Namespace, r.ID)
	default:
		return r, nil
	}
}

// article returns the name of a kind with "a" or "an" before it.
func article(k memory.Kind) string {
	if k == memory.KindEpisode {
		return "an episode"
	}
	return "a " + string(k)
}
