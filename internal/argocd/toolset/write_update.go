package toolset

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
)

type updateArgs struct {
	target
	Name           string `json:"name" jsonschema:"the application"`
	Namespace      string `json:"namespace,omitempty" jsonschema:"its namespace, if not Argo CD's"`
	Project        string `json:"project,omitempty" jsonschema:"move it to this project"`
	RepoURL        string `json:"repo_url,omitempty"`
	Path           string `json:"path,omitempty"`
	Chart          string `json:"chart,omitempty"`
	Revision       string `json:"revision,omitempty" jsonschema:"revision the source is followed at"`
	SourcePosition int    `json:"source_position,omitempty" jsonschema:"for several sources: which one repo_url, path, chart and revision are of; the first is 1"`
	DestServer     string `json:"dest_server,omitempty" jsonschema:"URL of the cluster"`
	DestName       string `json:"dest_name,omitempty" jsonschema:"name of the cluster, in place of dest_server"`
	DestNamespace  string `json:"dest_namespace,omitempty" jsonschema:"namespace in the cluster"`
	AutomatedSync  *bool  `json:"automated_sync,omitempty"`
	Prune          *bool  `json:"prune,omitempty" jsonschema:"whether auto-sync deletes what is no longer in the source"`
	SelfHeal       *bool  `json:"self_heal,omitempty" jsonschema:"whether auto-sync undoes changes in the cluster"`
	Spec           object `json:"spec,omitempty" jsonschema:"JSON merge patch of the specification: null removes, a list replaces the list"`
	Metadata       object `json:"metadata,omitempty" jsonschema:"JSON merge patch of labels, annotations and finalizers"`
	Validate       *bool  `json:"validate,omitempty" jsonschema:"the server checks source and destination first; default true"`
	DryRun         bool   `json:"dry_run,omitempty" jsonschema:"only show what would change; default false"`
	confirmation
}

// patchRequest is ApplicationPatchRequest of server/application/application.proto.
type patchRequest struct {
	Name         string `json:"name"`
	Patch        string `json:"patch"`
	PatchType    string `json:"patchType"`
	AppNamespace string `json:"appNamespace,omitempty"`
}

func (in updateArgs) subject() string { return in.Name }

// intent changes parts of an application by a merge patch; without validation it replaces the specification.
func (in updateArgs) intent(ctx context.Context, client *argocd.Client, confirmed bool) (*intent, error) {
	// in.Project is the new project, so the application is read without one.
	app, raw, err := readApplication(ctx, client, appArgs{Name: in.Name, Namespace: in.Namespace})
	if err != nil {
		return nil, err
	}
	before, err := decodeTree(raw)
	if err != nil {
		return nil, err
	}
	patch, err := in.mergePatchFor(app, before)
	if err != nil {
		return nil, err
	}
	after := mergePatch(before, patch)
	view, err := newDiffView(comparedParts(before), comparedParts(after))
	if err != nil {
		return nil, err
	}
	if finalizers := valueAt(patch, "metadata", "finalizers"); finalizers != nil {
		view.Changes = append(view.Changes, change{Path: "metadata.finalizers", From: shortJSON(valueAt(before, "metadata", "finalizers")), To: shortJSON(finalizers)})
		view.All++
	}
	var warnings []string
	if app.hasAutoSync() && view.All > 0 {
		warnings = append(warnings, "auto-sync is on: the change is deployed at once")
	}
	for _, o := range app.Metadata.OwnerReferences {
		warnings = append(warnings, fmt.Sprintf("%s %s made it and may undo the change", o.Kind, cutText(o.Name)))
	}
	i := &intent{sentence: view.describe(in.Name), warnings: warnings, current: app.summary(), change: view, dryRun: &in.DryRun, next: lookAdvice(in.Name)}
	if !confirmed || in.DryRun {
		return i, nil
	}
	if in.Validate != nil && !*in.Validate {
		i.request, err = in.replaceSpec(patch, after)
		return i, err
	}
	text, err := compact(patch)
	if err != nil {
		return nil, err
	}
	// The server applies the patch to the current application: other changes since it was read are kept.
	i.request = request{method: http.MethodPatch, path: []string{"applications", in.Name}, body: patchRequest{in.Name, string(text), "merge", in.Namespace}}
	i.finish = func(d *changeResult, raw []byte) error { return d.showState(client, raw) }
	return i, nil
}

// replaceSpec returns the request that puts the specification of after in place of the old one, which is the only way without validation. A
// patch of metadata is refused, because that request cannot change it.
func (in updateArgs) replaceSpec(patch map[string]any, after any) (request, error) {
	if patch["metadata"] != nil {
		return request{}, errors.New("metadata cannot be changed with validate=false: nothing was changed; send metadata in a call of its own")
	}
	query := appArgs{Namespace: in.Namespace}.query()
	query.Set("validate", "false")
	return request{method: http.MethodPut, path: []string{"applications", in.Name, "spec"}, query: query, body: valueAt(after, "spec")}, nil
}

// patchable are the members of metadata that the server accepts in an update; it ignores the others, and status and operation, silently
// (updateApp of server/application).
var patchable = []string{"labels", "annotations", "finalizers"}

// mergePatchFor returns the merge patch for the changes that the arguments ask for in an application, which is given decoded as app and as
// its JSON tree as before. It is an error if they ask for no change, or for one that the server would ignore.
func (in updateArgs) mergePatchFor(app *application, before any) (map[string]any, error) {
	for key := range in.Metadata {
		if !slices.Contains(patchable, key) {
			return nil, fmt.Errorf("metadata.%s cannot be changed: the server takes %s", cutText(key), strings.Join(patchable, ", "))
		}
	}
	if err := errors.Join(refuseMask("spec", map[string]any(in.Spec)), refuseMask("metadata", map[string]any(in.Metadata))); err != nil {
		return nil, err
	}
	spec := map[string]any{}
	if in.Project != "" {
		spec["project"] = in.Project
	}
	if err := in.patchSource(app, before, spec); err != nil {
		return nil, err
	}
	if err := in.patchDestination(app, spec); err != nil {
		return nil, err
	}
	if err := in.patchSyncPolicy(app, before, spec); err != nil {
		return nil, err
	}
	for key, value := range in.Spec {
		// Where both name a value in.Spec decides; objects are merged.
		spec[key] = mergePatches(spec[key], value)
	}
	patch := map[string]any{}
	if len(spec) > 0 {
		patch["spec"] = spec
	}
	if len(in.Metadata) > 0 {
		patch["metadata"] = map[string]any(in.Metadata)
	}
	if len(patch) == 0 {
		return nil, errors.New("no change was asked for: send what is to change, e.g. revision, or spec as a merge patch")
	}
	return patch, nil
}

// mergePatches returns two merge patches as one; over decides where both have a value. It changes the maps of under.
func mergePatches(under, over any) any {
	u, uok := under.(map[string]any)
	o, ook := over.(map[string]any)
	if !uok || !ook {
		return over
	}
	for k, v := range o {
		u[k] = mergePatches(u[k], v)
	}
	return u
}

// patchSource adds the changes of the source to the patch of spec. With several sources, one has to be chosen by its position, and the whole list
// is in the patch.
func (in updateArgs) patchSource(app *application, before any, spec map[string]any) error {
	part := map[string]any{}
	for key, value := range map[string]string{"repoURL": in.RepoURL, "path": in.Path, "chart": in.Chart, "targetRevision": in.Revision} {
		if value != "" {
			part[key] = value
		}
	}
	switch several := len(app.Spec.Sources); {
	case len(part) == 0 && in.SourcePosition != 0:
		return errors.New("source_position is given, and none of repo_url, path, chart and revision")
	case len(part) == 0:
	case several == 0 && in.SourcePosition > 1:
		return fmt.Errorf("source_position is %d and the application has one source", in.SourcePosition)
	case several == 0:
		spec["source"] = part
	case in.SourcePosition < 1 || in.SourcePosition > several:
		list := make([]string, several)
		for i, s := range app.Spec.Sources {
			list[i] = fmt.Sprintf("%d: %s", i+1, s)
		}
		return fmt.Errorf("source_position is %d: the application has several sources, say which one: %s", in.SourcePosition, strings.Join(firstEntries(list), "; "))
	default:
		// A merge patch replaces a list as a whole.
		now, _ := valueAt(before, "spec", "sources").([]any)
		sources := slices.Clone(now)
		sources[in.SourcePosition-1] = mergePatch(sources[in.SourcePosition-1], part)
		spec["sources"] = sources
	}
	return nil
}

// patchDestination adds the changes of the destination to the patch of spec. A new server removes the name and the other way round, as the server
// refuses both.
func (in updateArgs) patchDestination(app *application, spec map[string]any) error {
	if in.DestServer != "" && in.DestName != "" {
		return errors.New("dest_server and dest_name are both given: a destination has one of them")
	}
	if in.DestServer != "" {
		setValue(spec, in.DestServer, "destination", "server")
		if app.Spec.Destination.Name != "" {
			setValue(spec, nil, "destination", "name") // the server refuses both
		}
	}
	if in.DestName != "" {
		setValue(spec, in.DestName, "destination", "name")
		if app.Spec.Destination.Server != "" {
			setValue(spec, nil, "destination", "server")
		}
	}
	if in.DestNamespace != "" {
		setValue(spec, in.DestNamespace, "destination", "namespace")
	}
	return nil
}

// patchSyncPolicy adds the changes of auto-sync to the patch of spec. prune and self_heal without auto-sync are errors.
func (in updateArgs) patchSyncPolicy(app *application, before any, spec map[string]any) error {
	on := app.hasAutoSync()
	switch {
	case in.AutomatedSync == nil:
	case !*in.AutomatedSync:
		if in.Prune != nil || in.SelfHeal != nil {
			return errors.New("automated_sync is false, so prune and self_heal have no meaning: leave them out")
		}
		if valueAt(before, "spec", "syncPolicy", "automated") != nil {
			setValue(spec, nil, "syncPolicy", "automated")
		}
		return nil
	case !on && valueAt(before, "spec", "syncPolicy", "automated", "enabled") != nil:
		setValue(spec, true, "syncPolicy", "automated", "enabled")
		on = true
	case !on:
		setValue(spec, map[string]any{}, "syncPolicy", "automated")
		on = true
	}
	if (in.Prune != nil || in.SelfHeal != nil) && !on {
		return errors.New("auto-sync is off, so prune and self_heal have no meaning: send automated_sync=true with them")
	}
	if in.Prune != nil {
		setValue(spec, *in.Prune, "syncPolicy", "automated", "prune")
	}
	if in.SelfHeal != nil {
		setValue(spec, *in.SelfHeal, "syncPolicy", "automated", "selfHeal")
	}
	return nil
}
