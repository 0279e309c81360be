package toolset

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

type eventsArguments struct {
	appArgs
	Kind              string `json:"kind,omitempty" jsonschema:"Of the resource, e.g. Pod"`
	ResourceName      string `json:"resource_name,omitempty" jsonschema:"Empty: the application itself"`
	ResourceNamespace string `json:"resource_namespace,omitempty" jsonschema:"Found by kind and name if empty"`
	ResourceUID       string `json:"resource_uid,omitempty" jsonschema:"UID of that resource; empty: found by kind and name"`
	Type              string `json:"type,omitempty" jsonschema:"Only Normal or only Warning events"`
	paging
}

const eventsText = `Kubernetes events, newest first: of an application, or of one of its resources when resource_name says which. Clusters keep them for about an hour.`

// event is an Event of Kubernetes (core/v1), with the fields that either of its versions uses.
type event struct {
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Count   int    `json:"count"`
	First   string `json:"firstTimestamp"`
	Last    string `json:"lastTimestamp"`
	At      string `json:"eventTime"`
	Object  struct {
		Kind      string `json:"kind"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"involvedObject"`
	Source struct {
		Component string `json:"component"`
	} `json:"source"`
	Reporter string `json:"reportingComponent"`
	Series   *struct {
		Count int    `json:"count"`
		Last  string `json:"lastObservedTime"`
	} `json:"series"`
	Metadata struct {
		Created string `json:"creationTimestamp"`
	} `json:"metadata"`
}

type eventRow struct {
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Object  string `json:"object"`
	Count   int    `json:"count,omitempty"`
	First   string `json:"first,omitempty"`
	Last    string `json:"last"`
	Source  string `json:"source,omitempty"`
}

func (r eventRow) shortened(maxBytes int) eventRow {
	r.Message, r.Reason, r.Object, r.Source = clip(r.Message, maxBytes), clip(r.Reason, maxBytes), clip(r.Object, max(maxBytes, 80)), clip(r.Source, maxBytes)
	return r
}

// toRow returns the event as a row; a series counts as one event with its own count and last time.
func (e event) toRow() eventRow {
	r := eventRow{
		Type: e.Type, Reason: e.Reason, Message: e.Message, Object: e.Object.Kind + "/" + e.Object.Name, Count: e.Count,
		First: e.First, Last: cmp.Or(e.Last, e.At, e.Metadata.Created), Source: cmp.Or(e.Source.Component, e.Reporter),
	}
	if e.Series != nil {
		r.Count, r.Last = max(r.Count, e.Series.Count), cmp.Or(e.Series.Last, r.Last)
	}
	if r.First == r.Last {
		r.First = ""
	}
	return r
}

func (t *Toolset) eventsTool() builtin.Tool {
	return readTool(t, builtin.Tool{Name: "application_service__list_resource_events", Title: "Events of an application", Description: eventsText},
		formerApplication(map[string]string{"param_resourceName": "resource_name", "param_resourceNamespace": "resource_namespace", "param_resourceUID": "resource_uid"}),
		func(ctx context.Context, c *builtin.Call, client *argocd.Client, in eventsArguments) (*builtin.Result, error) {
			if err := checkGiven("name", in.Name); err != nil {
				return nil, err
			}
			if in.Type != "" && !strings.EqualFold(in.Type, "Normal") && !strings.EqualFold(in.Type, "Warning") {
				return nil, fmt.Errorf("type is %q: events are Normal or Warning", shortQuote(in.Type))
			}
			q := in.query()
			if in.ResourceName != "" || in.ResourceUID != "" {
				// The server finds events of a resource only by name, namespace and UID together.
				r := treeRef{Name: in.ResourceName, Namespace: in.ResourceNamespace, UID: in.ResourceUID}
				if in.ResourceUID == "" || in.ResourceName == "" {
					var err error
					if r, err = locateResource(ctx, c, client, in.appArgs, resourceSelector{Kind: in.Kind, ResourceNamespace: in.ResourceNamespace, ResourceName: in.ResourceName}); err != nil {
						return nil, err
					}
				}
				if r.UID == "" {
					return nil, fmt.Errorf("%s is not in the cluster yet: it has no events", r)
				}
				setQuery(q, "resourceName", r.Name)
				setQuery(q, "resourceNamespace", r.Namespace)
				setQuery(q, "resourceUID", r.UID)
			}
			types, reasons := tally{}, tally{}
			found := rows[eventRow]{narrow: "ask for type=\"Warning\" or for one resource"}
			_, err := client.Elements(ctx, []string{"applications", in.Name, "events"}, q, map[string]func([]byte) error{"items": func(raw []byte) error {
				var e event
				if err := decode(client, "events", raw, &e); err != nil {
					return err
				}
				types[cmp.Or(e.Type, "none")]++
				if in.Type != "" && !strings.EqualFold(in.Type, e.Type) {
					return nil
				}
				reasons[clip(e.Reason, 80)]++
				return found.add(e.toRow().shortened(1200))
			}})
			if err != nil {
				return nil, err
			}
			// RFC 3339 in UTC, as Kubernetes writes it, sorts as text.
			sorting.StableBy(found.list, func(a, b eventRow) int {
				return cmp.Or(cmp.Compare(b.Last, a.Last), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Reason, b.Reason))
			})
			a := paged[eventRow]{Instance: t.instanceLabel(client), Of: in.Name, Summary: map[string]tally{"by_type": types, "by_reason": reasons.top(12)}}
			if len(found.list) == 0 {
				a.Note = "No events: clusters forget them after about an hour."
				if in.ResourceName == "" {
					a.Note += " These are of the application itself; resource_name asks for those of one of its resources."
				}
			}
			return page(c, a, found.list, in.paging, func(p paging) any { in.paging = p; return in })
		})
}

type linksAnswer struct {
	Instance string     `json:"instance,omitempty"`
	Link     string     `json:"link,omitempty"`
	Links    []linkView `json:"links"`
	Left     int        `json:"more,omitempty"`
	Note     string     `json:"note,omitempty"`
}

type linkView struct {
	Title       string `json:"title"`
	URL         string `json:"url"`
	Description string `json:"description,omitempty"`
}

func (t *Toolset) linksTool() builtin.Tool {
	return readTool(t, builtin.Tool{
		Name: "application_service__list_links", Title: "Links of an application",
		Description: "Deep links that were configured for an application (dashboards, logs, runbooks), and the link to it in the user interface of Argo CD.",
	}, formerApplication(map[string]string{"param_namespace": "namespace"}),
		func(ctx context.Context, _ *builtin.Call, client *argocd.Client, in appArgs) (*builtin.Result, error) {
			if err := checkGiven("name", in.Name); err != nil {
				return nil, err
			}
			// This request alone calls the application's namespace "namespace" (ListAppLinksRequest).
			q := map[string][]string{}
			setQuery(q, "namespace", in.Namespace)
			setQuery(q, "project", in.Project)
			a := linksAnswer{Instance: t.instanceLabel(client), Links: []linkView{}}
			if raw, err := fetchOf(ctx, client, nil, in); err == nil { // for its namespace, a part of the link
				a.Link = linkOf(client, raw)
			}
			_, err := client.Elements(ctx, []string{"applications", in.Name, "links"}, q, map[string]func([]byte) error{"items": func(raw []byte) error {
				var v linkView
				if err := decode(client, "links", raw, &v); err != nil {
					return err
				}
				if len(a.Links) == 20 {
					a.Left++
					return nil
				}
				a.Links = append(a.Links, linkView{clip(v.Title, 80), clip(v.URL, 250), clip(v.Description, 100)})
				return nil
			}})
			if err != nil {
				return nil, err
			}
			if len(a.Links) == 0 {
				a.Note = "No deep links are configured."
			}
			return builtin.JSON(a)
		})
}
