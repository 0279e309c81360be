package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/redact"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// historyEntry is a RevisionHistory of types.go.
type historyEntry struct {
	ID        int64           `json:"id"`
	At        string          `json:"deployedAt"`
	Started   string          `json:"deployStartedAt"`
	Revision  string          `json:"revision"`
	Revisions []string        `json:"revisions"`
	Source    deployedFrom    `json:"source"`
	Sources   []deployedFrom  `json:"sources"`
	By        json.RawMessage `json:"initiatedBy"`
}

type deployedFrom struct {
	Repo     string `json:"repoURL"`
	Path     string `json:"path"`
	Chart    string `json:"chart"`
	Revision string `json:"targetRevision"`
}

// String returns the source as "REPO PATH @ REVISION".
func (s deployedFrom) String() string {
	text := s.Repo
	if what := cmp.Or(s.Chart, s.Path); what != "" {
		text += " " + what
	}
	if s.Revision != "" {
		text += " @ " + s.Revision
	}
	return text
}

type historyRow struct {
	ID        int64    `json:"id"`
	At        string   `json:"deployed_at"`
	Took      string   `json:"took,omitempty"`
	Revision  string   `json:"revision,omitempty"`
	Revisions []string `json:"revisions,omitempty"`
	Source    string   `json:"source,omitempty"`
	Sources   []string `json:"sources,omitempty"`
	By        string   `json:"by,omitempty"`
}

func (r historyRow) shortened(maxBytes int) historyRow {
	r.Source, r.By, r.Revision = clip(r.Source, max(80, maxBytes)), clip(r.By, maxBytes), clip(r.Revision, max(80, maxBytes))
	r.Sources, r.Revisions = clips(r.Sources, max(1, maxBytes/100), max(80, maxBytes/2)), clips(r.Revisions, max(1, maxBytes/100), max(80, maxBytes/2))
	return r
}

// toRow returns the deployment as a row; Took is "" if its times are not known.
func (d historyEntry) toRow() historyRow {
	r := historyRow{ID: d.ID, At: d.At, Revision: d.Revision, Revisions: d.Revisions, Source: d.Source.String()}
	for _, s := range d.Sources {
		r.Sources = append(r.Sources, s.String())
	}
	var by initiator
	if json.Unmarshal(d.By, &by) == nil {
		r.By = by.String()
	}
	from, err1 := time.Parse(time.RFC3339, d.Started)
	to, err2 := time.Parse(time.RFC3339, d.At)
	if err1 == nil && err2 == nil && to.After(from) {
		r.Took = to.Sub(from).String()
	}
	return r
}

type historyArguments struct {
	appArgs
	paging
}

func (t *Toolset) historyTool() builtin.Tool {
	return readTool(t, builtin.Tool{
		Name: "get_application_history", Title: "Deployments of an application",
		Description: "The deployments of an application that Argo CD remembers (10 unless configured otherwise), newest first: id, time, revision, source, who began it. A rollback takes one of these ids.",
	}, formerApplication(nil), func(ctx context.Context, c *builtin.Call, client *argocd.Client, in historyArguments) (*builtin.Result, error) {
		raw, err := fetchOf(ctx, client, nil, in.appArgs)
		if err != nil {
			return nil, err
		}
		var app struct {
			Status struct {
				History []historyEntry `json:"history"`
				Sync    struct {
					Revision  string   `json:"revision"`
					Revisions []string `json:"revisions"`
				} `json:"sync"`
			} `json:"status"`
		}
		if err := decode(client, "the application", raw, &app); err != nil {
			return nil, err
		}
		var list []historyRow
		for _, d := range app.Status.History {
			list = append(list, d.toRow())
		}
		sorting.StableBy(list, func(a, b historyRow) int { return cmp.Compare(b.ID, a.ID) })
		a := paged[historyRow]{Instance: t.instanceLabel(client), Of: in.Name}
		if len(list) == 0 {
			a.Note = "It was never deployed, or keeps no history (spec.revisionHistoryLimit 0)."
		}
		return page(c, a, list, in.paging, func(p paging) any { in.paging = p; return in })
	})
}

// window is an ApplicationSyncWindow of server/application/application.proto.
type window struct {
	Kind     string `json:"kind"`
	Schedule string `json:"schedule"`
	Duration string `json:"duration"`
	Manual   bool   `json:"manualSync"`
}

func (w window) denies() bool { return w.Kind == "deny" }

func (w window) allows() bool { return w.Kind == "allow" }

type windowView struct {
	Kind     string `json:"kind"`
	Schedule string `json:"schedule"`
	Duration string `json:"duration"`
	Manual   bool   `json:"manual_sync_allowed"`
}

type windowsAnswer struct {
	Instance string       `json:"instance,omitempty"`
	Of       string       `json:"application"`
	CanSync  bool         `json:"can_sync_now"`
	Note     string       `json:"note"`
	Active   []windowView `json:"active"`
	Assigned []windowView `json:"assigned"`
	Left     int          `json:"more,omitempty"`
}

func (t *Toolset) windowsTool() builtin.Tool {
	return readTool(t, builtin.Tool{
		Name: "get_application_sync_windows", Title: "Sync windows of an application",
		Description: "Whether an application may be synced by hand now, and its sync windows: those that are open and all that apply to it. allow windows let syncs happen only while they are open, deny windows forbid them.",
	}, formerApplication(nil), func(ctx context.Context, _ *builtin.Call, client *argocd.Client, in appArgs) (*builtin.Result, error) {
		raw, err := fetchOf(ctx, client, []string{"syncwindows"}, in)
		if err != nil {
			return nil, err
		}
		var w struct {
			Active   []window `json:"activeWindows"`
			Assigned []window `json:"assignedWindows"`
			CanSync  bool     `json:"canSync"`
		}
		if err := decode(client, "the sync windows", raw, &w); err != nil {
			return nil, err
		}
		a := windowsAnswer{Instance: t.instanceLabel(client), Of: in.Name, CanSync: w.CanSync, Active: []windowView{}, Assigned: []windowView{}}
		for list, into := range map[*[]window]*[]windowView{&w.Active: &a.Active, &w.Assigned: &a.Assigned} {
			for i, one := range *list {
				if i == maxListed {
					a.Left += len(*list) - i
					break
				}
				*into = append(*into, windowView{clip(one.Kind, 20), clip(one.Schedule, 60), clip(one.Duration, 20), one.Manual})
			}
		}
		switch can := map[bool]string{true: "possible", false: "not possible"}[w.CanSync]; {
		case len(w.Assigned) == 0:
			a.Note = "No sync window applies: syncs are possible at any time."
		case slices.ContainsFunc(w.Active, window.denies):
			a.Note = "A deny window is active, which forbids syncs; a sync by hand is " + can + " now."
		case len(w.Active) > 0:
			a.Note = "An allow window is open and no deny window is active; a sync by hand is " + can + " now."
		case slices.ContainsFunc(w.Assigned, window.allows):
			a.Note = "No allow window is open, and there are some, so syncs have to wait for one; a sync by hand is " + can + " now."
		default:
			a.Note = "No deny window is active; a sync by hand is " + can + " now."
		}
		return builtin.JSON(a)
	})
}

// slimmed returns raw, a generated object, with secrets masked and without the members that only machines read.
func slimmed(raw []byte) (json.RawMessage, error) {
	slim, _, err := redact.Slim(raw, redact.Keep{})
	return slim, err
}
