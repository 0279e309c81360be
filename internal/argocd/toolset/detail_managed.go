package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/redact"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

type managedArguments struct {
	appArgs
	resourceSelector
	All      bool   `json:"all,omitempty" jsonschema:"Also what is in sync"`
	Full     bool   `json:"full,omitempty" jsonschema:"Both manifests"`
	Revision string `json:"revision,omitempty" jsonschema:"Compare with this commit, branch, tag or chart version"`
	paging
}

const managedText = `What differs between the cluster and Git, by resource: ~ path: LIVE → DESIRED, + only desired, - only live.
kind and resource_name pick one resource and show more of it; all=true also lists what is in sync; full=true gives both manifests; revision compares with another one, which is not deployed. Secrets are masked.`

// managedResource is a ResourceDiff of types.go.
type managedResource struct {
	treeRef
	Target    string `json:"targetState"`
	Live      string `json:"liveState"`
	Normal    string `json:"normalizedLiveState"`
	Predicted string `json:"predictedLiveState"`
	Hook      bool   `json:"hook"`
	Modified  bool   `json:"modified"`
}

// The states of a managed resource.
const (
	stateDiffers = "differs"
	stateMissing = "missing in the cluster"
	statePrune   = "to be pruned"
	stateHook    = "hook"
	stateSynced  = "in sync"
)

// state returns whether the resource is a hook, missing, to be pruned, different, or synced.
func (r managedResource) state() string {
	switch {
	case r.Hook:
		return stateHook
	case absent(r.Live):
		return stateMissing
	case absent(r.Target):
		return statePrune
	case r.Modified:
		return stateDiffers
	}
	return stateSynced
}

type managedRow struct {
	Kind      string          `json:"kind"`
	Namespace string          `json:"namespace,omitempty"`
	Name      string          `json:"name"`
	State     string          `json:"state"`
	Diff      []string        `json:"diff,omitempty"`
	More      int             `json:"more_differences,omitempty"`
	Live      json.RawMessage `json:"live,omitempty"`
	Desired   json.RawMessage `json:"desired,omitempty"`
}

// shortened returns the row with fewer and shorter lines of differences; maxBytes decides both.
func (r managedRow) shortened(maxBytes int) managedRow {
	n := max(2, maxBytes/20)
	lines := r.Diff
	if len(lines) > n {
		lines = lines[:n]
		r.More += len(r.Diff) - n
	}
	r.Diff = make([]string, len(lines))
	for i, line := range lines {
		r.Diff[i] = clip(line, max(80, maxBytes/2))
	}
	return r
}

// maxManaged bounds what the rows of one answer hold before they are sorted, in bytes: lines of differences or, with full, both manifests.
const maxManaged = 8 << 20

var errTooMuch = fmt.Errorf("the differences take more than %s: pick some with kind, resource_namespace and resource_name", limit.Bytes(maxManaged).Human())

func (t *Toolset) managedTool() builtin.Tool {
	return readTool(t, builtin.Tool{Name: "get_application_managed_resources", Title: "Differences of an application", Description: managedText},
		formerApplication(map[string]string{"path_applicationName": "name", "param_namespace": "resource_namespace", "param_name": "resource_name", "param_kind": "kind", "param_group": "group"}),
		func(ctx context.Context, c *builtin.Call, client *argocd.Client, in managedArguments) (*builtin.Result, error) {
			states := tally{}
			found := rows[managedRow]{narrow: "pick some with kind, resource_namespace and resource_name"}
			held := 0
			var at *desiredManifests
			if in.Revision != "" {
				var err error
				if at, err = manifestsAt(ctx, client, in.appArgs, in.Revision); err != nil {
					return nil, err
				}
			}
			take := func(r managedResource) error {
				states[r.state()]++
				if !in.selects(r.treeRef) || !in.All && (r.state() == stateSynced || r.state() == stateHook) {
					return nil
				}
				one, err := r.toRow(in.Full)
				if err != nil {
					return err
				}
				if held += len(one.Live) + len(one.Desired) + size(one.Diff); held > maxManaged {
					return errTooMuch
				}
				return found.add(one)
			}
			err := elements(ctx, c, client, []string{"managed-resources"}, in.appArgs, "items", func(r managedResource) error {
				if err := at.replaceDesired(&r); err != nil {
					return err
				}
				return take(r)
			})
			if err == nil {
				err = at.forRemaining(take)
			}
			if err != nil {
				return nil, err
			}
			sorting.StableBy(found.list, func(a, b managedRow) int {
				return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
			})
			a := paged[managedRow]{Instance: t.instanceLabel(client), Of: in.Name, Summary: map[string]tally{"by_state": states}}
			switch {
			case len(found.list) > 0:
			case in.resourceSelector != resourceSelector{}:
				a.Note = "No such resource differs; by_state counts all there are, all=true lists them."
			case states[stateDiffers]+states[stateMissing]+states[statePrune] == 0:
				a.Note = "Nothing differs: the cluster is as Git says."
				if at != nil {
					a.Note = "Nothing differs."
				}
			}
			a.Note = strings.TrimSpace(at.revisionNote() + a.Note)
			return page(c, a, found.list, in.paging, func(p paging) any { in.paging = p; return in })
		})
}

// toRow returns the row of the resource: with full both manifests; else the differences, if its state is stateDiffers.
func (r managedResource) toRow(full bool) (managedRow, error) {
	one := managedRow{Kind: r.groupKind(), Namespace: r.Namespace, Name: r.Name, State: r.state()}
	if full {
		var err error
		if one.Live, err = shortenState(r.Live); err != nil {
			return one, fmt.Errorf("the live state of %s: %w", r, err)
		}
		if one.Desired, err = shortenState(r.Target); err != nil {
			return one, fmt.Errorf("the desired state of %s: %w", r, err)
		}
		return one, nil
	}
	if one.State != stateDiffers {
		return one, nil
	}
	// The states that the server itself compared, without what it is configured to ignore; from versions that do not
	// send these, the manifests are compared.
	live, desired, subset := r.Normal, r.Predicted, false
	if absent(live) || absent(desired) {
		live, desired, subset = r.Live, r.Target, true
	}
	lines, all, err := diffManifests(live, desired, subset)
	if err != nil {
		return one, fmt.Errorf("%s: %w", r, err)
	}
	one.Diff, one.More = lines, all-len(lines)
	return one, nil
}

// shortenState returns a live or target state, which is JSON in a string, without what short answers leave out; nil if there is none.
func shortenState(state string) (json.RawMessage, error) {
	if absent(state) {
		return nil, nil
	}
	slim, _, err := redact.Slim([]byte(state), redact.Keep{History: true, HelmValues: true})
	return slim, err
}
