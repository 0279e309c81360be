package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/secrets"
)

// syncResource names one resource of an application (SyncOperationResource of types.go).
type syncResource struct {
	Group     string `json:"group,omitempty" jsonschema:"API group; empty for the core group"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
}

type syncArgs struct {
	appArgs
	Revision        string         `json:"revision,omitempty" jsonschema:"revision to sync to; empty: what the application says"`
	Revisions       []string       `json:"revisions,omitempty" jsonschema:"for several sources: a revision for each of source_positions"`
	SourcePositions []int64        `json:"source_positions,omitempty" jsonschema:"which sources revisions are of; the first is 1"`
	Prune           bool           `json:"prune,omitempty" jsonschema:"delete resources that are no longer in the source; default false"`
	DryRun          bool           `json:"dry_run,omitempty" jsonschema:"the server tries it and applies nothing; default false"`
	Strategy        string         `json:"strategy,omitempty" jsonschema:"apply or hook; empty: hook"`
	Force           bool           `json:"force,omitempty" jsonschema:"delete and create again what cannot be patched; default false"`
	Resources       []syncResource `json:"resources,omitempty" jsonschema:"only these resources; no hooks run then"`
	SyncOptions     []string       `json:"sync_options,omitempty" jsonschema:"in place of the application's, e.g. ServerSideApply=true"`
	confirmation
}

// syncRequest is ApplicationSyncRequest of server/application/application.proto.
type syncRequest struct {
	Name            string                    `json:"name"`
	AppNamespace    string                    `json:"appNamespace,omitempty"`
	Project         string                    `json:"project,omitempty"`
	Revision        string                    `json:"revision,omitempty"`
	Revisions       []string                  `json:"revisions,omitempty"`
	SourcePositions []int64                   `json:"sourcePositions,omitempty"`
	Prune           bool                      `json:"prune"`
	DryRun          bool                      `json:"dryRun"`
	Strategy        map[string]map[string]any `json:"strategy,omitempty"`
	Resources       []syncResource            `json:"resources,omitempty"`
	SyncOptions     *syncOptions              `json:"syncOptions,omitempty"`
}

type syncOptions struct {
	Items []string `json:"items"`
}

func (in syncArgs) subject() string { return in.Name }

// intent syncs an application. The plan has the first resources that would be applied and deleted, and warnings.
func (in syncArgs) intent(ctx context.Context, client *argocd.Client, confirmed bool) (*intent, error) {
	if err := in.checkArguments(); err != nil {
		return nil, err
	}
	app, _, err := readApplication(ctx, client, in.appArgs)
	if err != nil {
		return nil, err
	}
	change, warnings := in.previewSync(app)
	if !confirmed {
		warnings = append(warnings, closedWindows(ctx, client, in.appArgs)...)
	}
	return &intent{
		sentence: in.describe(), warnings: warnings, current: app.summary(), preview: change,
		request: request{method: http.MethodPost, path: []string{"applications", in.Name, "sync"}, body: in.requestBody()},
		finish: func(d *changeResult, raw []byte) error {
			return d.describeStarted(ctx, client, in.appArgs, app, raw, in.DryRun)
		},
	}, nil
}

// checkArguments returns an error for arguments that the server would refuse or misunderstand silently.
func (in syncArgs) checkArguments() error {
	if err := checkValue("strategy", in.Strategy, "apply", "hook"); err != nil {
		return err
	}
	if len(in.Revisions) != len(in.SourcePositions) {
		return fmt.Errorf("there are %d revisions and %d source_positions: each revision needs the position of its source", len(in.Revisions), len(in.SourcePositions))
	}
	for i, r := range in.Resources {
		if r.Kind == "" || r.Name == "" {
			return fmt.Errorf("resources[%d] has no kind or no name", i)
		}
	}
	return nil
}

// requestBody returns the body of the request. force without a strategy takes the server's default, "hook".
func (in syncArgs) requestBody() syncRequest {
	r := syncRequest{
		Name: in.Name, AppNamespace: in.Namespace, Project: in.Project,
		Revision: in.Revision, Revisions: in.Revisions, SourcePositions: in.SourcePositions,
		Prune: in.Prune, DryRun: in.DryRun, Resources: in.Resources,
	}
	strategy := in.Strategy
	if in.Force && strategy == "" {
		strategy = "hook" // the server's default
	}
	if strategy != "" {
		how := map[string]any{}
		if in.Force {
			how["force"] = true
		}
		r.Strategy = map[string]map[string]any{strategy: how}
	}
	if in.SyncOptions != nil {
		r.SyncOptions = &syncOptions{in.SyncOptions}
	}
	return r
}

// describe describes the sync, as in "sync shop to v2, with prune".
func (in syncArgs) describe() string {
	text := "sync " + in.Name
	if in.DryRun {
		text = "dry run of a sync of " + in.Name
	}
	if in.Revision != "" {
		text += " to " + cutText(in.Revision)
	}
	if n := len(in.Resources); n > 0 {
		text += fmt.Sprintf(", %d of its resources", n)
	}
	if in.Prune {
		text += ", with prune"
	}
	return text
}

// syncPreview lists the resources that a sync would touch, as far as the application shows them.
type syncPreview struct {
	OutOfSync int      `json:"out_of_sync"`
	Apply     []string `json:"apply,omitempty"`
	Delete    []string `json:"delete,omitempty"`
}

// previewSync returns the first resources that the sync would apply and delete, as far as the application's status shows them, and warnings
// about arguments that have no or a dangerous effect.
func (in syncArgs) previewSync(app *application) (syncPreview, []string) {
	var p syncPreview
	var warnings []string
	kept := 0
	for _, r := range app.Status.Resources {
		if r.Status == "Synced" || !in.covers(r) {
			continue
		}
		p.OutOfSync++
		switch {
		case !r.RequiresPruning:
			p.Apply = append(p.Apply, r.String())
		case in.Prune:
			p.Delete = append(p.Delete, r.String())
		default:
			kept++
		}
	}
	slices.Sort(p.Apply)
	slices.Sort(p.Delete)
	p.Apply, p.Delete = firstEntries(p.Apply), firstEntries(p.Delete)
	if kept > 0 {
		warnings = append(warnings, fmt.Sprintf("%d resources are no longer in the source and stay: prune is false", kept))
	}
	for _, want := range in.Resources {
		if !slices.ContainsFunc(app.Status.Resources, func(r resource) bool { return (syncArgs{Resources: []syncResource{want}}).covers(r) }) {
			warnings = append(warnings, cutText(fmt.Sprintf("the application has no resource %s", resource{Group: want.Group, Kind: want.Kind, Namespace: want.Namespace, Name: want.Name})))
		}
	}
	if (in.Revision != "" || len(in.Revisions) > 0) && app.hasAutoSync() && !in.DryRun {
		warnings = append(warnings, "auto-sync is on: the server refuses another revision than the application's own")
	}
	if in.Revision != "" && len(app.Spec.Sources) > 0 {
		warnings = append(warnings, "the application has several sources: revision is not used, send revisions and source_positions")
	}
	if in.Prune && in.Force {
		warnings = append(warnings, "prune and force delete resources")
	}
	return p, append(firstEntries(warnings), app.obstacles()...)
}

// covers reports whether the sync includes this resource.
func (in syncArgs) covers(r resource) bool {
	return len(in.Resources) == 0 || slices.ContainsFunc(in.Resources, func(want syncResource) bool {
		return want.Group == r.Group && want.Kind == r.Kind && want.Name == r.Name && (want.Namespace == "" || want.Namespace == r.Namespace)
	})
}

// obstacles returns the reasons why the server would refuse an operation.
func (a *application) obstacles() (warnings []string) {
	if busy := a.runningOperation(); busy != "" {
		warnings = append(warnings, busy+": the server takes no other until it ends; terminate_operation ends it")
	}
	if at := a.Metadata.DeletionTimestamp; at != "" {
		warnings = append(warnings, "the application is being deleted since "+at)
	}
	return warnings
}

// closedWindows asks the server for the project's sync windows, and returns a warning if they forbid a sync now; nil also if that cannot be
// found out.
func closedWindows(ctx context.Context, client *argocd.Client, a appArgs) []string {
	raw, err := client.Get(ctx, []string{"applications", a.Name, "syncwindows"}, a.query())
	if err != nil {
		return nil // only a remark is lost: the sync itself would fail with the reason
	}
	var w struct {
		CanSync *bool    `json:"canSync"` // also false while an allow window is closed and none is open
		Active  []window `json:"activeWindows"`
	}
	if json.Unmarshal(raw, &w) != nil || w.CanSync == nil || *w.CanSync {
		return nil
	}
	why := "no sync window of the project that allows one is open"
	if slices.ContainsFunc(w.Active, window.denies) {
		why = "a sync window of the project that denies them is active"
	}
	return []string{why + ", so a sync is refused now: get_application_sync_windows shows until when"}
}

// dryRunWait bounds the wait for the result of a dry run, which usually takes a few seconds; dryRunPause is the time
// between two looks at it.
const (
	dryRunWait  = 30 * time.Second
	dryRunPause = 500 * time.Millisecond
)

// describeStarted completes the answer after the server has accepted an operation. raw is the application in the server's answer, before
// the one from before. For a dry run it waits for the result, for at most dryRunWait.
func (d *changeResult) describeStarted(ctx context.Context, client *argocd.Client, a appArgs, before *application, raw []byte, dryRun bool) error {
	app, err := decodeApplication(client, raw)
	if err != nil {
		return err
	}
	d.Next = lookAdvice(a.Name)
	if d.looked = dryRun; dryRun {
		last := ""
		if before.Status.OperationState != nil {
			last = before.Status.OperationState.StartedAt
		}
		var over bool
		if app, over = awaitDryRun(ctx, client, a, app, last); over {
			d.Change, d.Next = dryRunOutcome(app), ""
		} else {
			d.Next = "the dry run has not ended yet: " + d.Next
		}
	}
	d.State = app.summary()
	return nil
}

// awaitDryRun reads the application again and again until a dry run that did not start at last has ended, and reports whether it has. It
// gives up after dryRunWait, with ctx, and when the application cannot be read.
func awaitDryRun(ctx context.Context, client *argocd.Client, a appArgs, app *application, last string) (*application, bool) {
	timeout := time.NewTimer(dryRunWait)
	defer timeout.Stop()
	for {
		if s := app.Status.OperationState; s != nil && s.FinishedAt != "" && s.StartedAt != last && s.Operation.Sync != nil && s.Operation.Sync.DryRun {
			return app, true
		}
		select {
		case <-ctx.Done():
			return app, false
		case <-timeout.C:
			return app, false
		case <-time.After(dryRunPause):
		}
		next, _, err := readApplication(ctx, client, a)
		if err != nil {
			return app, false // the operation runs, although it cannot be seen
		}
		app = next
	}
}

// dryRunOutcome returns the phase and message of a dry run that has ended, and the first results of its resources, with secrets masked.
func dryRunOutcome(app *application) any {
	s := app.Status.OperationState
	out := struct {
		Phase     string   `json:"phase"`
		Message   string   `json:"message,omitempty"`
		Resources int      `json:"resources"`
		Results   []string `json:"results,omitempty"`
	}{Phase: s.Phase, Message: cutText(secrets.Text(s.Message))}
	if s.SyncResult == nil {
		return out
	}
	out.Resources = len(s.SyncResult.Resources)
	for _, r := range s.SyncResult.Resources {
		out.Results = append(out.Results, cutText(secrets.Text(fmt.Sprintf("%s: %s %s", r, r.Status, r.Message))))
	}
	out.Results = firstEntries(out.Results)
	return out
}
