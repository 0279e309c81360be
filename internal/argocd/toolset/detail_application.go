package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/redact"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

type applicationArguments struct {
	appArgs
	Refresh string `json:"refresh,omitempty" jsonschema:"normal: compare with the source first; hard: with new manifests too"`
	objectDetail
}

const applicationText = `One application: source, destination, health, sync, the last or running operation with what failed, conditions, counts of its resources and those that need attention, images, last deployment. full=true gives the whole object.`

// appView holds the fields of an Application that the answer uses (pkg/apis/application/v1alpha1/types.go).
type appView struct {
	Metadata struct {
		Name            string          `json:"name"`
		Namespace       string          `json:"namespace"`
		Created         string          `json:"creationTimestamp"`
		Deleted         string          `json:"deletionTimestamp"`
		Labels          json.RawMessage `json:"labels"`
		Annotations     json.RawMessage `json:"annotations"`
		Finalizers      []string        `json:"finalizers"`
		OwnerReferences []struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		Project           string          `json:"project"`
		Source            json.RawMessage `json:"source"`
		Sources           json.RawMessage `json:"sources"`
		Hydrator          json.RawMessage `json:"sourceHydrator"`
		Destination       json.RawMessage `json:"destination"`
		SyncPolicy        json.RawMessage `json:"syncPolicy"`
		IgnoreDifferences json.RawMessage `json:"ignoreDifferences"`
		Info              json.RawMessage `json:"info"`
	} `json:"spec"`
	Operation json.RawMessage `json:"operation"`
	Status    struct {
		Sync struct {
			Status    string   `json:"status"`
			Revision  string   `json:"revision"`
			Revisions []string `json:"revisions"`
		} `json:"sync"`
		Health struct {
			Status  string `json:"status"`
			Message string `json:"message"`
			Since   string `json:"lastTransitionTime"`
		} `json:"health"`
		Conditions []struct {
			Type    string `json:"type"`
			Message string `json:"message"`
			Since   string `json:"lastTransitionTime"`
		} `json:"conditions"`
		Resources  []treeNode      `json:"resources"`
		State      *operationState `json:"operationState"`
		History    []historyEntry  `json:"history"`
		Hydrator   *hydratorState  `json:"sourceHydrator"`
		Reconciled string          `json:"reconciledAt"`
		SourceType string          `json:"sourceType"`
		Types      []string        `json:"sourceTypes"`
		Summary    struct {
			Images []string `json:"images"`
			URLs   []string `json:"externalURLs"`
		} `json:"summary"`
	} `json:"status"`
}

type operationState struct {
	Phase      string `json:"phase"`
	Message    string `json:"message"`
	Started    string `json:"startedAt"`
	Finished   string `json:"finishedAt"`
	RetryCount int    `json:"retryCount"`
	Operation  struct {
		InitiatedBy initiator `json:"initiatedBy"`
	} `json:"operation"`
	SyncResult struct {
		Revision  string   `json:"revision"`
		Revisions []string `json:"revisions"`
		Resources []struct {
			treeNode
			HookPhase string `json:"hookPhase"`
			Message   string `json:"message"`
		} `json:"resources"`
	} `json:"syncResult"`
}

// hydratorState is SourceHydratorStatus of types.go.
type hydratorState struct {
	Current *struct {
		Phase    string `json:"phase"`
		Message  string `json:"message"`
		Started  string `json:"startedAt"`
		Finished string `json:"finishedAt"`
		Dry      string `json:"drySHA"`
		Hydrated string `json:"hydratedSHA"`
	} `json:"currentOperation"`
	Last *struct {
		Dry      string `json:"drySHA"`
		Hydrated string `json:"hydratedSHA"`
	} `json:"lastSuccessfulOperation"`
}

type hydrationView struct {
	Phase    string `json:"phase"`
	Message  string `json:"message,omitempty"`
	Started  string `json:"started,omitempty"`
	Finished string `json:"finished,omitempty"`
	Dry      string `json:"dry_revision,omitempty"`
	Hydrated string `json:"hydrated_revision,omitempty"`
	Last     string `json:"last_good_dry_revision,omitempty"`
}

// view returns the current hydration for an answer; nil if there is none.
func (s *hydratorState) view() *hydrationView {
	if s == nil || s.Current == nil {
		return nil
	}
	c := s.Current
	v := &hydrationView{Phase: c.Phase, Message: clip(c.Message, 800), Started: c.Started, Finished: c.Finished, Dry: c.Dry, Hydrated: c.Hydrated}
	if s.Last != nil && s.Last.Dry != c.Dry {
		v.Last = s.Last.Dry
	}
	return v
}

type initiator struct {
	Username  string `json:"username"`
	Automated bool   `json:"automated"`
}

func (i initiator) String() string {
	if i.Automated {
		return "automated sync"
	}
	return clip(i.Username, maxShown)
}

// applicationAnswer is the answer. Sections that may be large are raw, so that trim can leave them out if there is no room.
type applicationAnswer struct {
	Instance   string          `json:"instance,omitempty"`
	Name       string          `json:"name"`
	Namespace  string          `json:"namespace,omitempty"`
	Project    string          `json:"project"`
	Link       string          `json:"link"`
	Health     statusView      `json:"health"`
	Sync       syncView        `json:"sync"`
	Deleting   string          `json:"deletion_began,omitempty"`
	Conditions []conditionView `json:"conditions,omitempty"`
	Operation  *operationView  `json:"operation,omitempty"`
	Hydration  *hydrationView  `json:"hydration,omitempty"`
	Requested  bool            `json:"operation_requested,omitempty"`
	Resources  resourcesView   `json:"resources"`
	Dest       json.RawMessage `json:"destination,omitempty"`
	Source     json.RawMessage `json:"source,omitempty"`
	Sources    json.RawMessage `json:"sources,omitempty"`
	Hydrator   json.RawMessage `json:"source_hydrator,omitempty"`
	Types      []string        `json:"source_types,omitempty"`
	Policy     json.RawMessage `json:"sync_policy,omitempty"`
	Deployed   *lastView       `json:"last_deployment,omitempty"`
	Images     []string        `json:"images,omitempty"`
	URLs       []string        `json:"urls,omitempty"`
	Owner      string          `json:"owner,omitempty"`
	Created    string          `json:"created,omitempty"`
	Reconciled string          `json:"reconciled,omitempty"`
	Labels     json.RawMessage `json:"labels,omitempty"`
	Annots     json.RawMessage `json:"annotations,omitempty"`
	Ignore     json.RawMessage `json:"ignore_differences,omitempty"`
	Info       json.RawMessage `json:"info,omitempty"`
	Finalizers []string        `json:"finalizers,omitempty"`
	LeftOut    []string        `json:"left_out,omitempty"`
	How        string          `json:"how_to_see_it,omitempty"`
}

type statusView struct {
	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
	Since   string `json:"since,omitempty"`
}

type syncView struct {
	Status    string   `json:"status"`
	Revision  string   `json:"revision,omitempty"`
	Revisions []string `json:"revisions,omitempty"`
}

type conditionView struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Since   string `json:"since,omitempty"`
}

type operationView struct {
	Phase     string     `json:"phase"`
	Message   string     `json:"message,omitempty"`
	Started   string     `json:"started,omitempty"`
	Finished  string     `json:"finished,omitempty"`
	By        string     `json:"by,omitempty"`
	Revision  string     `json:"revision,omitempty"`
	Revisions []string   `json:"revisions,omitempty"`
	Retries   int        `json:"retries,omitempty"`
	Failed    []nodeView `json:"failed_resources,omitempty"`
	AllFailed int        `json:"failed_resources_total,omitempty"`
}

type resourcesView struct {
	Total     int        `json:"total"`
	Health    tally      `json:"by_health,omitempty"`
	Sync      tally      `json:"by_sync,omitempty"`
	Kinds     tally      `json:"by_kind,omitempty"`
	Attention []nodeView `json:"need_attention,omitempty"`
	AllNeed   int        `json:"need_attention_total,omitempty"`
}

type lastView struct {
	deployment historyRow
	Count      int
}

// MarshalJSON returns the deployment, with the number of deployments.
func (l lastView) MarshalJSON() ([]byte, error) {
	return compact(struct {
		historyRow
		Count int `json:"deployments_kept"`
	}{l.deployment, l.Count})
}

func (t *Toolset) applicationTool() builtin.Tool {
	return readTool(t, builtin.Tool{Name: "get_application_details", Title: "Application details", Description: applicationText},
		formerApplication(map[string]string{"refresh": ""}),
		func(ctx context.Context, c *builtin.Call, client *argocd.Client, in applicationArguments) (*builtin.Result, error) {
			if _, _, err := in.partsToKeep(); err != nil {
				return nil, err
			}
			if err := errors.Join(checkValue("refresh", in.Refresh, "normal", "hard"), checkGiven("name", in.Name)); err != nil {
				return nil, err
			}
			query := in.query()
			setQuery(query, "refresh", in.Refresh)
			raw, err := client.Get(ctx, []string{"applications", in.Name}, query)
			if err != nil {
				return nil, err
			}
			in.Refresh = "" // the next part must not refresh again
			if _, full, _ := in.partsToKeep(); full {
				return t.objectResult(c, client, raw, in.objectDetail, linkOf(client, raw), "", func(part int) any { in.Part = part; return in })
			}
			return t.applicationAnswer(client, raw, min(answerSize, roomOf(c)))
		})
}

// applicationAnswer answers with the most important of an application, in at most room bytes. It says at its end what was left out and how to see
// it.
func (t *Toolset) applicationAnswer(client *argocd.Client, raw []byte, room int) (*builtin.Result, error) {
	slim, left, err := redact.Slim(raw, redact.Keep{History: true})
	if err != nil {
		return nil, err
	}
	var v appView
	if err := decode(client, "the application", slim, &v); err != nil {
		return nil, err
	}
	s, m := &v.Status, &v.Metadata
	if m.Name == "" {
		return nil, notObjectError(client, "the application")
	}
	a := applicationAnswer{
		Instance: t.instanceLabel(client), Name: m.Name, Namespace: m.Namespace, Project: v.Spec.Project,
		Link:     appLink(client, m.Namespace, m.Name),
		Health:   statusView{cmp.Or(s.Health.Status, "none"), clip(s.Health.Message, 500), s.Health.Since},
		Sync:     syncView{cmp.Or(s.Sync.Status, "none"), s.Sync.Revision, firstEntries(s.Sync.Revisions)},
		Deleting: m.Deleted, Requested: len(v.Operation) > 0 && string(v.Operation) != "null",
		Dest: v.Spec.Destination, Source: v.Spec.Source, Sources: v.Spec.Sources, Hydrator: v.Spec.Hydrator,
		Policy: v.Spec.SyncPolicy, Ignore: v.Spec.IgnoreDifferences, Info: v.Spec.Info,
		Types: s.Types, Images: clips(s.Summary.Images, 10, 200), URLs: clips(s.Summary.URLs, 5, 200),
		Created: m.Created, Reconciled: s.Reconciled, Labels: m.Labels, Annots: m.Annotations, Finalizers: firstEntries(m.Finalizers),
		Resources: viewResources(s.Resources), Operation: viewOperation(s.State), Hydration: s.Hydrator.view(),
	}
	if s.SourceType != "" && len(a.Types) == 0 {
		a.Types = []string{s.SourceType}
	}
	for i, c := range s.Conditions {
		if i == 5 {
			break
		}
		a.Conditions = append(a.Conditions, conditionView{c.Type, clip(c.Message, 600), c.Since})
	}
	for _, owner := range m.OwnerReferences {
		a.Owner = owner.Kind + "/" + owner.Name
		break
	}
	if n := len(s.History); n > 0 {
		latest := slices.MaxFunc(s.History, func(a, b historyEntry) int { return cmp.Compare(a.ID, b.ID) })
		a.Deployed = &lastView{latest.toRow().shortened(maxShown), n}
	}
	out, err := compact(a)
	if err != nil {
		return nil, err
	}
	// The note about what is left out comes last, as it is only known then; room is kept for it.
	const note = 400
	out, cut := trimTo(out, room-note-size(left))
	if left = append(left, cut...); len(left) > 0 {
		tail, err := compact(struct {
			LeftOut []string `json:"left_out"`
			How     string   `json:"how_to_see_it"`
		}{left, wholeObject})
		if err != nil {
			return nil, err
		}
		out = append(append(out[:len(out)-1], ','), tail[1:]...)
	}
	return &builtin.Result{Text: string(out), Paged: true}, nil
}

// maxAttention bounds the resources that are named in an application's answer; the resource tree has all.
const maxAttention = 10

// viewResources counts the resources of an application by state and kind, and lists those that need attention, at most maxAttention.
func viewResources(list []treeNode) resourcesView {
	v := resourcesView{Total: len(list), Health: tally{}, Sync: tally{}, Kinds: tally{}}
	for _, r := range list {
		v.Health[r.healthName()]++
		v.Sync[cmp.Or(r.Status, "none")]++
		v.Kinds[r.groupKind()]++
		if healthRank(r.healthName()) < rankFine || r.Status == "OutOfSync" || r.Pruning {
			if v.AllNeed++; v.AllNeed <= maxAttention {
				v.Attention = append(v.Attention, r.view().shortened(300))
			}
		}
	}
	v.Kinds = v.Kinds.top(12)
	if v.AllNeed == len(v.Attention) {
		v.AllNeed = 0
	}
	return v
}

// viewOperation returns the last operation with the resources that failed, at most maxAttention; nil if there was none.
func viewOperation(s *operationState) *operationView {
	if s == nil || s.Phase == "" {
		return nil
	}
	v := &operationView{
		Phase: s.Phase, Message: clip(s.Message, 800), Started: s.Started, Finished: s.Finished, By: s.Operation.InitiatedBy.String(),
		Revision: s.SyncResult.Revision, Revisions: firstEntries(s.SyncResult.Revisions), Retries: s.RetryCount,
	}
	for _, r := range s.SyncResult.Resources {
		if r.Status != "SyncFailed" && r.HookPhase != "Failed" && r.HookPhase != "Error" {
			continue
		}
		if v.AllFailed++; v.AllFailed <= maxAttention {
			node := r.view()
			node.Health, node.Message = "", r.Message
			v.Failed = append(v.Failed, node.shortened(300))
		}
	}
	if v.AllFailed == len(v.Failed) {
		v.AllFailed = 0
	}
	return v
}
