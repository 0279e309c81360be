package simulator

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/plimsoll/plimsoll/internal/lazy"
)

// obj is a JSON object that is being changed; numbers are json.Number.
type obj = map[string]any

func parse(body []byte) (m obj, err error) {
	if err = decode(body, &m); m == nil {
		m = obj{}
	}
	return m, err
}

// ensureObject returns the object below the keys and makes what is missing on the way.
func ensureObject(m obj, keys ...string) obj {
	for _, key := range keys {
		next, ok := m[key].(obj)
		if !ok {
			next = obj{}
			m[key] = next
		}
		m = next
	}
	return m
}

// lookup returns the value below the keys, nil if there is none.
func lookup(m obj, keys ...string) any {
	var v any = m
	for _, key := range keys {
		next, ok := v.(obj)
		if !ok {
			return nil
		}
		v = next[key]
	}
	return v
}

func text(m obj, keys ...string) string {
	s, _ := lookup(m, keys...).(string)
	return s
}

func list(m obj, keys ...string) []any {
	all, _ := lookup(m, keys...).([]any)
	return all
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// parsed reads the object.
func (f *found) parsed() obj {
	m, err := parse(f.write(nil))
	if err != nil {
		panic(err) // what is generated or was stored is JSON
	}
	return m
}

// put stores an object as a write left it.
func (s *Simulator) put(f *found) *refusal {
	ensureObject(f.m, "metadata")["resourceVersion"] = strconv.FormatInt(s.revision.Add(1), 10)
	return s.stored[f.kind].putObject(&found{head: headOf(f.m), kind: f.kind, index: f.index, body: marshal(f.m)})
}

func (c *call) saveObject(f *found) {
	if err := c.put(f); err != nil {
		panic(err)
	}
}

// saveAndAnswer saves and answers with the object.
func (c *call) saveAndAnswer(f *found) {
	c.saveObject(f)
	c.answer(marshal(f.m))
}

// done saves and answers with nothing.
func (c *call) done(f *found) {
	c.saveObject(f)
	c.answer([]byte(`{}`))
}

// request is the body of a write of an application; each call has some of it.
type request struct {
	AppNamespace, Project string

	Revision      string
	DryRun, Prune bool
	Strategy      obj
	Resources     []wanted
	SyncOptions   struct{ Items []string }
	ID            json.Number

	Patch, PatchType string

	Group, Kind, Namespace, ResourceName, Action string

	spec obj
}

// readRequest decodes what a write of an application asks for. Two calls have another body: the specification, and an action alone with the
// rest in the query.
func (c *call) readRequest(action string) (q request) {
	switch {
	case c.r.Method == http.MethodPut:
		q.spec = obj{}
		c.decodeBody(&q.spec)
	case action == "action" && json.Unmarshal(c.sent, &q.Action) == nil:
		q.Group, q.Kind, q.Namespace, q.ResourceName = c.query.Get("group"), c.query.Get("kind"), c.query.Get("namespace"), c.query.Get("resourceName")
	case c.r.Method != http.MethodDelete:
		c.decodeBody(&q)
	}
	return q
}

// changeHandler returns the handler of a write of the application that the path names: it refuses those who may not change it, and calls
// change, which has to store it and to answer.
func changeHandler(action string, change func(c *call, f *found, q *request)) func(*call) {
	return func(c *call) {
		q := c.readRequest(action)
		f := c.requestedApplication(cmp.Or(q.AppNamespace, c.query.Get("appNamespace")), cmp.Or(q.Project, c.query.Get("project")))
		if !c.canChange(f.project) {
			asked := action
			if q.Action != "" {
				asked += "/" + q.Group + "/" + q.Kind + "/" + q.Action
			}
			c.deny("applications", asked, f.project+"/"+f.name)
		}
		f.m = f.parsed()
		change(c, &f, &q)
	}
}

// refreshApplication compares an application again, which changes only its times, stores it and returns it as stored.
func (c *call) refreshApplication(f found) found {
	c.writing.Lock()
	defer c.writing.Unlock()
	f, ok := c.findObject(applications, f.namespace, f.name)
	if !ok {
		panic(deniedRefusal())
	}
	f.m = f.parsed()
	ensureObject(f.m, "status")["reconciledAt"] = now()
	c.saveObject(&f)
	f, _ = c.findObject(applications, f.namespace, f.name)
	return f
}

// storeNew stores a new object, or changes the existing one of its name if upsert allows it, and answers with it. Otherwise it refuses with
// the text different; an existing one with the same specification is stored unchanged.
func (c *call) storeNew(k kind, m obj, upsert bool, different string) {
	f, exists := c.findObject(k, space(text(m, "metadata", "namespace")), text(m, "metadata", "name"))
	if !exists {
		c.fillMetadata(m)
		f.m = m
	} else if f.m = f.parsed(); !same(f.m["spec"], m["spec"]) {
		if !upsert {
			refuseCall(invalidArgument, "%s", different)
		}
		mergeUpdate(f.m, m)
	}
	c.saveAndAnswer(&f)
}

// removeObject deletes an object and says so.
func (c *call) removeObject(f *found) {
	c.revision.Add(1)
	if err := c.stored[f.kind].putObject(&found{head: f.head, kind: f.kind, index: f.index}); err != nil {
		panic(err)
	}
	c.answer([]byte(`{}`))
}

// checkApplication refuses an application as the server does before it stores one, and sets its project if it has none.
func (c *call) checkApplication(m obj) {
	name, project := text(m, "metadata", "name"), cmp.Or(text(m, "spec", "project"), "default")
	invalid := func(format string, args ...any) {
		refuseCall(invalidArgument, "application "+format, args...)
	}
	server, cluster := text(m, "spec", "destination", "server"), text(m, "spec", "destination", "name")
	switch {
	case !c.exists(projects, project):
		refuseCall(invalidArgument, "app is not allowed in project %q, or the project does not exist", project)
	case name == "":
		refuseCall(unknown, "error while validating and normalizing app: resource name may not be empty")
	case !dnsName(name):
		refuseCall(invalidArgument, "error while validating and normalizing app: Application.argoproj.io %q is invalid: metadata.name: Invalid value: %q: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character", name, name)
	case server == "" && cluster == "":
		invalid("destination spec for %s is invalid: Destination server missing from app spec", name)
	case server != "" && cluster != "":
		invalid("destination spec for %s is invalid: application destination can't have both name and server defined: %s %s", name, cluster, server)
	}
	if _, ok := c.findCluster(cluster, server); !ok && server != "" {
		invalid("destination spec for %s is invalid: error getting cluster by server %q: rpc error: code = NotFound desc = cluster %q not found", name, server, server)
	} else if !ok {
		invalid("destination spec for %s is invalid: unable to find destination server: there are no clusters with this name: %s", name, cluster)
	}
	sources := list(m, "spec", "sources")
	if source, ok := lookup(m, "spec", "source").(obj); ok {
		sources = append(sources, source)
	}
	incomplete := func(source any) bool {
		src, _ := source.(obj)
		return text(src, "repoURL") == "" || text(src, "path")+text(src, "chart")+text(src, "ref") == ""
	}
	if len(sources) == 0 || slices.ContainsFunc(sources, incomplete) {
		invalid("spec for %s is invalid: InvalidSpecError: spec.source.repoURL and either spec.source.path, spec.source.chart, or spec.source.ref are required", name)
	}
	ensureObject(m, "spec")["project"] = project
}

// dnsName reports whether Kubernetes takes a name for an object.
func dnsName(name string) bool { return len(name) <= 253 && dnsNames().MatchString(name) }

var dnsNames = lazy.Regexp(`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`)

// fillMetadata adds the metadata that the API server of Kubernetes adds to a new object.
func (s *Simulator) fillMetadata(m obj) {
	meta := ensureObject(m, "metadata")
	if text(meta, "namespace") == "" {
		meta["namespace"] = "argocd"
	}
	d := newDice(s.seed, partMeta, uint64(s.revision.Load())+1<<43)
	meta["uid"] = string(d.uid(nil))
	meta["generation"], meta["creationTimestamp"] = 1, now()
	delete(m, "kind")
	delete(m, "apiVersion")
}

// same reports whether two specs are equal.
func same(a, b any) bool { return bytes.Equal(marshal(a), marshal(b)) }

// createApplication stores a new application, or with upsert replaces one, if the user may change its project. Its status is empty.
func createApplication(c *call) {
	m := obj{}
	c.decodeBody(&m)
	upsert := c.flag("upsert")
	project := cmp.Or(text(m, "spec", "project"), "default")
	if !c.canChange(project) {
		c.deny("applications", "create", project+"/"+text(m, "metadata", "name"))
	}
	c.checkApplication(m)
	m["status"] = obj{
		"sync":   obj{"status": "", "comparedTo": obj{"source": obj{"repoURL": ""}, "destination": obj{}}},
		"health": obj{}, "summary": obj{}, "sourceHydrator": obj{},
	}
	c.storeNew(applications, m, upsert, "existing application spec is different, use upsert flag to force update")
}

// mergeUpdate copies into old what an update changes: spec and finalizers in place of those there, and labels and annotations in addition
// to them.
func mergeUpdate(old, m obj) {
	old["spec"] = m["spec"]
	for _, key := range []string{"labels", "annotations"} {
		if with, ok := lookup(m, "metadata", key).(obj); ok {
			maps.Copy(ensureObject(old, "metadata", key), with)
		}
	}
	if finalizers, ok := lookup(m, "metadata", "finalizers").([]any); ok {
		ensureObject(old, "metadata")["finalizers"] = finalizers
	}
}

// mergePatch applies the merge patch of RFC 7396 to m.
func mergePatch(m, patch obj) {
	for key, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(m, key)
		case obj:
			mergePatch(ensureObject(m, key), v)
		default:
			m[key] = v
		}
	}
}

// patchApplication applies a merge patch and stores the result. Other types of patches are refused; name and namespace stay.
func patchApplication(c *call, f *found, q *request) {
	if q.PatchType != "merge" {
		refuseCall(invalidArgument, "Patch type '%s' is not supported", q.PatchType)
	}
	patch, err := parse([]byte(q.Patch))
	if err != nil {
		refuseCall(unknown, "error calculating merge patch: Invalid JSON Patch")
	}
	mergePatch(f.m, patch)
	meta := ensureObject(f.m, "metadata")
	meta["name"], meta["namespace"] = f.name, f.namespace
	c.checkApplication(f.m)
	c.saveAndAnswer(f)
}

func updateSpec(c *call, f *found, q *request) {
	f.m["spec"] = q.spec
	c.checkApplication(f.m)
	c.saveObject(f)
	c.answer(marshal(q.spec))
}

// deleteApplication removes an application, whatever the policy is. It only checks that the policy is valid.
func deleteApplication(c *call, f *found, _ *request) {
	policy := c.query.Get("propagationPolicy")
	if cascade := c.flag("cascade"); !cascade && c.query.Get("cascade") != "" && policy != "" {
		refuseCall(invalidArgument, "cannot set propagation policy when cascading is disabled")
	}
	if !slices.Contains([]string{"", "foreground", "background", "orphan"}, policy) {
		refuseCall(invalidArgument, "invalid propagation policy: %s", policy)
	}
	c.removeObject(f)
}
