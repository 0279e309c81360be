package simulator

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// syncRequest is the request of a sync or a rollback.
type syncRequest struct {
	Revision              string
	Revisions             []string
	DryRun, Prune         bool
	Strategy              obj
	Resources             []struct{ Group, Kind, Name, Namespace string }
	SyncOptions           *struct{ Items []string }
	AppNamespace, Project string
	ID                    json.Number
}

func automated(m obj) bool {
	a, ok := lookup(m, "spec", "syncPolicy", "automated").(obj)
	return ok && a["enabled"] != false
}

func busy(m obj) bool { return m["operation"] != nil }

func syncApplication(c *call) error {
	var q syncRequest
	if err := c.read(&q); err != nil {
		return err
	}
	t, done, err := c.forWriting(q.AppNamespace, q.Project, "sync")
	if err != nil {
		return err
	}
	defer done()
	wanted := text(t.m, "spec", "source", "targetRevision")
	switch {
	case lookup(t.m, "metadata", "deletionTimestamp") != nil:
		return refuse(failedPrecondition, "application is deleting")
	case q.Revision != "" && q.Revision != wanted && automated(t.m) && !q.DryRun:
		return refuse(failedPrecondition, "Cannot sync to %s: auto-sync currently set to %s", q.Revision, wanted)
	case busy(t.m):
		return refuse(failedPrecondition, "another operation is already in progress")
	}
	revision := q.Revision
	if revision == "" || revision == wanted || len(revision) != 40 && lookup(t.m, "spec", "source", "chart") == nil {
		revision = c.resolve(t, revision)
	}
	return c.start(t, q, revision, nil)
}

// resolve returns the commit that a branch or tag points to now; for a chart, its version.
func (c *call) resolve(t *target, name string) string {
	if chart := text(t.m, "spec", "source", "chart"); chart != "" {
		if name == "" {
			name = text(t.m, "spec", "source", "targetRevision")
		}
		return name
	}
	if current := text(t.m, "status", "sync", "revision"); current != "" && (name == "" || name == text(t.m, "spec", "source", "targetRevision")) {
		return current
	}
	d := c.diceOf(t.name, &object{Kind: "Revision", Name: name})
	return d.commit()
}

func rollback(c *call) error {
	var q syncRequest
	if err := c.read(&q); err != nil {
		return err
	}
	t, done, err := c.forWriting(q.AppNamespace, q.Project, "sync")
	if err != nil {
		return err
	}
	defer done()
	switch {
	case lookup(t.m, "metadata", "deletionTimestamp") != nil:
		return refuse(failedPrecondition, "application is deleting")
	case automated(t.m):
		return refuse(failedPrecondition, "rollback cannot be initiated when auto-sync is enabled")
	case busy(t.m):
		return refuse(failedPrecondition, "another operation is already in progress")
	}
	history, _ := lookup(t.m, "status", "history").([]any)
	for _, h := range history {
		entry, _ := h.(obj)
		if id, _ := lookup(entry, "id").(json.Number); id != "" && id == q.ID {
			return c.start(t, q, text(entry, "revision"), entry)
		}
	}
	return refuse(invalidArgument, "application %s/%s does not have deployment with id %s", t.namespace, t.name, orZero(q.ID))
}

func orZero(n json.Number) json.Number {
	if n == "" {
		return "0"
	}
	return n
}

// start begins an operation: it shows as running until the time of one has passed.
func (c *call) start(t *target, q syncRequest, revision string, from obj) error {
	ask := obj{}
	for key, value := range map[string]any{"revision": revision, "prune": q.Prune, "dryRun": q.DryRun} {
		if value != "" && value != false {
			ask[key] = value
		}
	}
	if q.Strategy != nil {
		ask["syncStrategy"] = q.Strategy
	}
	if q.SyncOptions != nil {
		ask["syncOptions"] = q.SyncOptions.Items
	}
	var some []any
	for _, r := range q.Resources {
		some = append(some, obj{"group": r.Group, "kind": r.Kind, "name": r.Name, "namespace": r.Namespace})
	}
	if some != nil {
		ask["resources"] = some
	}
	operation := obj{"sync": ask, "initiatedBy": obj{"username": c.username()}, "retry": obj{}}
	t.m["operation"] = operation
	source, kept := lookup(t.m, "spec", "source"), "source"
	if sources := lookup(t.m, "spec", "sources"); sources != nil {
		source, kept = sources, "sources"
	}
	if from != nil && from[kept] != nil {
		source = from[kept]
	}
	ensureObject(t.m, "status")["operationState"] = obj{
		"operation": operation, "phase": "Running", "message": "waiting for completion of the sync", "startedAt": now(),
		"syncResult": obj{"revision": revision, kept: source},
	}
	body, err := c.save(t)
	if err != nil {
		return err
	}
	started := text(t.m, "metadata", "resourceVersion")
	s, name, space := c.Simulator, t.name, t.namespace
	time.AfterFunc(s.syncTakes, func() { s.finish(name, space, started, q, revision) })
	return c.answer(body)
}

// finish ends an operation if it still runs.
func (s *Simulator) finish(name, space, started string, q syncRequest, revision string) {
	s.writing.Lock()
	defer s.writing.Unlock()
	f, ok := s.find(applications, space, name)
	if !ok || f.entry == nil {
		return
	}
	m, err := parse(f.entry.body)
	if err != nil || m["operation"] == nil || text(m, "metadata", "resourceVersion") != started {
		return
	}
	delete(m, "operation")
	status := ensureObject(m, "status")
	state := ensureObject(status, "operationState")
	state["phase"], state["message"], state["finishedAt"] = "Succeeded", "successfully synced (all tasks run)", now()
	resources, _ := status["resources"].([]any)
	var results []any
	left, behind := resources[:0:0], false
	for _, r := range resources {
		o, _ := r.(obj)
		if o == nil || !q.takes(o) {
			left, behind = append(left, r), behind || o["status"] == "OutOfSync"
			continue
		}
		message := text(o, "kind") + "/" + text(o, "name") + " configured"
		switch {
		case o["requiresPruning"] == true && !q.Prune:
			message, behind = "ignored (requires pruning)", true
			left = append(left, o)
		case q.DryRun:
			message += " (dry run)"
			left, behind = append(left, o), behind || o["status"] == "OutOfSync"
		case o["requiresPruning"] == true:
			message = "pruned"
		default:
			o["status"] = "Synced"
			if text(o, "health", "status") == "Missing" {
				o["health"] = obj{"status": "Healthy"}
			}
			left = append(left, o)
		}
		results = append(results, obj{
			"group": text(o, "group"), "version": text(o, "version"), "kind": text(o, "kind"), "namespace": text(o, "namespace"),
			"name": text(o, "name"), "status": "Synced", "message": message, "hookPhase": "Succeeded", "syncPhase": "Sync",
		})
	}
	ensureObject(state, "syncResult")["resources"] = results
	if !q.DryRun {
		status["resources"] = left
		s.settle(m, status, q, revision, behind)
	}
	// A full store leaves the operation running, as a full etcd would.
	_, _ = s.store(applications, m, f.index >= 0)
}

// settle writes what a sync that was no dry run changes besides the resources.
func (s *Simulator) settle(m, status obj, q syncRequest, revision string, behind bool) {
	compared := ensureObject(status, "sync")
	back := q.ID != "" && compared["revision"] != revision
	compared["status"] = "Synced"
	if behind || back {
		compared["status"] = "OutOfSync"
	}
	if !back && revision != "" {
		compared["revision"] = revision
	}
	if source := lookup(m, "spec", "source"); source != nil {
		ensureObject(compared, "comparedTo")["source"] = source
	}
	ensureObject(compared, "comparedTo")["destination"] = lookup(m, "spec", "destination")
	health := ensureObject(status, "health")
	switch health["status"] {
	case nil, "", "Missing", "Unknown":
		health["status"], health["lastTransitionTime"] = "Healthy", now()
	}
	status["reconciledAt"], status["controllerNamespace"] = now(), "argocd"
	history, _ := status["history"].([]any)
	id := int64(0)
	if len(history) > 0 {
		last, _ := history[len(history)-1].(obj)
		n, _ := lookup(last, "id").(json.Number)
		before, err := n.Int64()
		if err == nil {
			id = before + 1
		}
	}
	entry := obj{"revision": revision, "deployedAt": now(), "deployStartedAt": now(), "id": json.Number(strconv.FormatInt(id, 10)), "initiatedBy": lookup(status, "operationState", "operation", "initiatedBy")}
	for _, key := range []string{"source", "sources"} {
		if v := lookup(status, "operationState", "syncResult", key); v != nil {
			entry[key] = v
		}
	}
	history = append(history, entry)
	limit := int64(10)
	if n, ok := lookup(m, "spec", "revisionHistoryLimit").(json.Number); ok {
		if v, err := n.Int64(); err == nil && v >= 0 {
			limit = v
		}
	}
	status["history"] = history[max(int64(len(history))-limit, 0):]
}

// takes reports whether a sync is about a resource: about all, unless some are named.
func (q *syncRequest) takes(o obj) bool {
	return len(q.Resources) == 0 || slices.ContainsFunc(q.Resources, func(r struct{ Group, Kind, Name, Namespace string }) bool {
		return r.Kind == text(o, "kind") && r.Name == text(o, "name") && r.Group == text(o, "group") && (r.Namespace == "" || r.Namespace == text(o, "namespace"))
	})
}

func terminate(c *call) error {
	t, done, err := c.forWriting("", "", "sync")
	if err != nil {
		return err
	}
	defer done()
	if !busy(t.m) || lookup(t.m, "status", "operationState") == nil {
		return refuse(invalidArgument, "Unable to terminate operation. No operation is in progress")
	}
	delete(t.m, "operation")
	state := ensureObject(t.m, "status", "operationState")
	state["phase"], state["message"], state["finishedAt"] = "Failed", "Operation terminated", now()
	if _, err := c.save(t); err != nil {
		return err
	}
	return c.answer([]byte(`{}`))
}

// target finds a resource in an application that is being changed.
func (t *target) resource(group, kind, namespace, name string) (obj, error) {
	resources, _ := lookup(t.m, "status", "resources").([]any)
	for _, r := range resources {
		o, _ := r.(obj)
		if o != nil && text(o, "kind") == kind && text(o, "name") == name && text(o, "group") == group && (namespace == "" || text(o, "namespace") == namespace) {
			return o, nil
		}
	}
	return nil, refuse(invalidArgument, "%s %s %s not found as part of application %s", kind, group, name, t.name)
}

// runAction takes both forms: the action as the body with the rest in the query, and all of
// it in the body.
func runAction(c *call) error {
	var q struct{ AppNamespace, Project, Group, Kind, Namespace, ResourceName, Action string }
	body, err := c.body()
	if err != nil {
		return err
	}
	if json.Unmarshal(body, &q.Action) == nil {
		q.Group, q.Kind, q.Namespace, q.ResourceName = c.query.Get("group"), c.query.Get("kind"), c.query.Get("namespace"), c.query.Get("resourceName")
	} else if err := json.Unmarshal(body, &q); err != nil {
		return refuse(invalidArgument, "%v", err)
	}
	t, done, err := c.forWriting(q.AppNamespace, q.Project, "action/"+q.Group+"/"+q.Kind+"/"+q.Action)
	if err != nil {
		return err
	}
	defer done()
	o, err := t.resource(q.Group, q.Kind, q.Namespace, q.ResourceName)
	if err != nil {
		return err
	}
	if !slices.Contains(actions(q.Kind), q.Action) {
		return refuse(unknown, "error getting Lua resource action: built-in script does not exist")
	}
	health := "Healthy"
	if q.Action == "suspend" {
		health = "Suspended"
	}
	o["health"] = obj{"status": health}
	ensureObject(t.m, "status")["reconciledAt"] = now()
	if _, err := c.save(t); err != nil {
		return err
	}
	return c.answer([]byte(`{}`))
}
