package simulator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

func automated(m obj) bool {
	a, ok := lookup(m, "spec", "syncPolicy", "automated").(obj)
	return ok && a["enabled"] != false
}

func hasOperation(m obj) bool { return m["operation"] != nil }

// checkReady refuses an operation on an application that is being deleted, or that has one already. against is a further reason of the call itself
// to refuse, "" for none.
func checkReady(m obj, against string) {
	switch {
	case lookup(m, "metadata", "deletionTimestamp") != nil:
		refuseCall(failedPrecondition, "application is deleting")
	case against != "":
		refuseCall(failedPrecondition, "%s", against)
	case hasOperation(m):
		refuseCall(failedPrecondition, "another operation is already in progress")
	}
}

// syncApplication starts a sync of an application to a revision, by default that of its source. It fails if an operation is running, or if
// the revision is another one than auto-sync follows.
func syncApplication(c *call, f *found, q *request) {
	revision, wanted, against := q.Revision, text(f.m, "spec", "source", "targetRevision"), ""
	if revision != "" && revision != wanted && automated(f.m) && !q.DryRun {
		against = fmt.Sprintf("Cannot sync to %s: auto-sync currently set to %s", revision, wanted)
	}
	checkReady(f.m, against)
	if revision == "" || revision == wanted || len(revision) != 40 && lookup(f.m, "spec", "source", "chart") == nil {
		revision = c.resolveRevision(f, revision)
	}
	c.startOperation(f, q, revision, nil)
}

// resolveRevision returns the commit that a branch or tag points to now; for a chart, its version.
func (c *call) resolveRevision(f *found, name string) string {
	wanted, current := text(f.m, "spec", "source", "targetRevision"), text(f.m, "status", "sync", "revision")
	switch {
	case text(f.m, "spec", "source", "chart") != "":
		return cmp.Or(name, wanted)
	case current != "" && (name == "" || name == wanted):
		return current
	}
	d := c.diceOf(f.name, &object{Kind: "Revision", Name: name})
	return d.commit()
}

// rollbackApplication starts a sync to an entry of the application's history. It fails if there is no such entry, if an operation is running, and if
// auto-sync is on.
func rollbackApplication(c *call, f *found, q *request) {
	against := ""
	if automated(f.m) {
		against = "rollback cannot be initiated when auto-sync is enabled"
	}
	checkReady(f.m, against)
	for _, h := range list(f.m, "status", "history") {
		entry, _ := h.(obj)
		if id, _ := lookup(entry, "id").(json.Number); id != "" && id == q.ID {
			c.startOperation(f, q, text(entry, "revision"), entry)
			return
		}
	}
	refuseCall(invalidArgument, "application %s/%s does not have deployment with id %s", f.namespace, f.name, cmp.Or(q.ID, "0"))
}

// operation holds the part of an application that tells of a sync somebody asked for.
type operation struct {
	Revision    string   `json:"revision,omitempty"`
	Prune       bool     `json:"prune,omitempty"`
	DryRun      bool     `json:"dryRun,omitempty"`
	Strategy    obj      `json:"syncStrategy,omitempty"`
	SyncOptions []string `json:"syncOptions,omitempty"`
	Resources   []wanted `json:"resources,omitempty"`
}

// wanted names a resource.
type wanted struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// startOperation stores in the application that an operation is running, which a timer ends after Options.SyncTakes, and answers with the
// application. from is the entry of the history whose sources are used, nil for those of the specification.
func (c *call) startOperation(f *found, q *request, revision string, from obj) {
	ask := operation{Revision: revision, Prune: q.Prune, DryRun: q.DryRun, Strategy: q.Strategy, Resources: q.Resources, SyncOptions: q.SyncOptions.Items}
	operation := obj{"sync": ask, "initiatedBy": obj{"username": c.username()}, "retry": obj{}}
	f.m["operation"] = operation
	kept := "source"
	if lookup(f.m, "spec", "sources") != nil {
		kept = "sources"
	}
	source := lookup(f.m, "spec", kept)
	if from != nil && from[kept] != nil {
		source = from[kept]
	}
	ensureObject(f.m, "status")["operationState"] = obj{
		"operation": operation, "phase": "Running", "message": "waiting for completion of the sync", "startedAt": now(),
		"syncResult": obj{"revision": revision, kept: source},
	}
	c.saveObject(f)
	s, started := c.Simulator, text(f.m, "metadata", "resourceVersion")
	time.AfterFunc(s.options.SyncTakes, func() { s.finishOperation(f, started, q, revision) })
	c.answer(marshal(f.m))
}

// endOperation removes the operation from an application, and writes into its state how and when that ended. It returns the state.
func endOperation(m obj, phase, message string) obj {
	delete(m, "operation")
	state := ensureObject(m, "status", "operationState")
	state["phase"], state["message"], state["finishedAt"] = phase, message, now()
	return state
}

// finishOperation ends the operation of an application and stores its results: resources are synced or pruned as q asks, except in a dry
// run. It does nothing if the application has changed since the operation was started.
func (s *Simulator) finishOperation(of *found, started string, q *request, revision string) {
	s.writing.Lock()
	defer s.writing.Unlock()
	f, ok := s.findObject(applications, of.namespace, of.name)
	if !ok || f.body == nil {
		return
	}
	if f.m = f.parsed(); f.m["operation"] == nil || text(f.m, "metadata", "resourceVersion") != started {
		return
	}
	state := endOperation(f.m, "Succeeded", "successfully synced (all tasks run)")
	status := ensureObject(f.m, "status")
	resources := list(status, "resources")
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
		result := obj{"status": "Synced", "message": message, "hookPhase": "Succeeded", "syncPhase": "Sync"}
		for _, key := range []string{"group", "version", "kind", "namespace", "name"} {
			result[key] = text(o, key)
		}
		results = append(results, result)
	}
	ensureObject(state, "syncResult")["resources"] = results
	if !q.DryRun {
		status["resources"] = left
		applySync(f.m, status, q, revision, behind)
	}
	// A full store leaves the operation running, as a full etcd would.
	_ = s.put(&f)
}

// applySync writes the changes that a sync makes apart from the resources; it is not called for a dry run.
func applySync(m, status obj, q *request, revision string, behind bool) {
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
	history, id := list(status, "history"), int64(0)
	if len(history) > 0 {
		last, _ := history[len(history)-1].(obj)
		if before, ok := wholeOf(last, "id"); ok {
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
	limit, ok := wholeOf(m, "spec", "revisionHistoryLimit")
	if !ok || limit < 0 {
		limit = 10
	}
	status["history"] = history[max(int64(len(history))-limit, 0):]
}

func wholeOf(m obj, keys ...string) (int64, bool) {
	n, _ := lookup(m, keys...).(json.Number)
	v, err := n.Int64()
	return v, err == nil
}

// takes reports whether a sync is about a resource: about all, unless some are named.
func (q *request) takes(o obj) bool {
	return len(q.Resources) == 0 || slices.ContainsFunc(q.Resources, func(r wanted) bool {
		return r.Kind == text(o, "kind") && r.Name == text(o, "name") && r.Group == text(o, "group") && (r.Namespace == "" || r.Namespace == text(o, "namespace"))
	})
}

// terminateOperation ends the running operation as failed, stores that and answers. It refuses if none is running.
func terminateOperation(c *call, f *found, _ *request) {
	if !hasOperation(f.m) || lookup(f.m, "status", "operationState") == nil {
		refuseCall(invalidArgument, "Unable to terminate operation. No operation is in progress")
	}
	endOperation(f.m, "Failed", "Operation terminated")
	c.done(f)
}

// runAction runs an action of a resource: the resource becomes healthy, or suspended if that is the action. It refuses an unknown resource
// and an action that its kind does not have.
func runAction(c *call, f *found, q *request) {
	at := slices.IndexFunc(list(f.m, "status", "resources"), func(r any) bool {
		o, _ := r.(obj)
		return text(o, "kind") == q.Kind && text(o, "name") == q.ResourceName && text(o, "group") == q.Group && (q.Namespace == "" || text(o, "namespace") == q.Namespace)
	})
	if at < 0 {
		refuseCall(invalidArgument, "%s %s %s not found as part of application %s", q.Kind, q.Group, q.ResourceName, f.name)
	}
	if !slices.Contains(actionsOf(q.Kind), q.Action) {
		refuseCall(unknown, "error getting Lua resource action: built-in script does not exist")
	}
	health := "Healthy"
	if q.Action == "suspend" {
		health = "Suspended"
	}
	if o, ok := list(f.m, "status", "resources")[at].(obj); ok {
		o["health"] = obj{"status": health}
	}
	ensureObject(f.m, "status")["reconciledAt"] = now()
	c.done(f)
}
