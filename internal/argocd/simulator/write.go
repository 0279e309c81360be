package simulator

import (
	"bytes"
	"encoding/json"
	"maps"
	"strconv"
	"time"
)

func writes() []written {
	return []written{
		{"POST /api/v1/applications", createApplication},
		{"PATCH /api/v1/applications/{}", patchApplication},
		{"DELETE /api/v1/applications/{}", deleteApplication},
		{"PUT /api/v1/applications/{}/spec", updateSpec},
		{"POST /api/v1/applications/{}/sync", syncApplication},
		{"POST /api/v1/applications/{}/rollback", rollback},
		{"DELETE /api/v1/applications/{}/operation", terminate},
		{"POST /api/v1/applications/{}/resource/actions", runAction},
		{"POST /api/v1/applications/{}/resource/actions/v2", runAction},
		{"POST /api/v1/projects", createProject},
		{"PUT /api/v1/projects/{}", updateProject},
		{"DELETE /api/v1/projects/{}", deleteProject},
		{"POST /api/v1/applicationsets", createSet},
		{"DELETE /api/v1/applicationsets/{}", deleteSet},
		{"POST /api/v1/applicationsets/generate", generateSet},
	}
}

// obj is a JSON object that is being changed; numbers are json.Number.
type obj = map[string]any

func parse(body []byte) (obj, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var m obj
	if err := dec.Decode(&m); err != nil {
		return nil, err
	}
	if m == nil {
		m = obj{}
	}
	return m, nil
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

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// store stores an object as a write left it and returns its bytes.
func (s *Simulator) store(k kind, m obj, generated bool) ([]byte, error) {
	number := s.revision.Add(1)
	ensureObject(m, "metadata")["resourceVersion"] = strconv.FormatInt(number, 10)
	body := marshal(m)
	h := headOf(body)
	e := &entry{head: h, key: h.namespace + "/" + h.name, body: body}
	if err := s.stored[k].put(e, generated); err != nil {
		return nil, err
	}
	return body, nil
}

// target is an object that a call is about to change. The simulator's writing lock is held
// until done.
type target struct {
	found

	m obj
}

// forWriting finds the application and locks it, with all others, against other writes.
func (c *call) forWriting(namespace, project, action string) (t *target, done func(), err error) {
	c.writing.Lock()
	if namespace == "" {
		namespace = c.query.Get("appNamespace")
	}
	if project == "" {
		project = c.query.Get("project")
	}
	f, err := c.application(namespace, project)
	if err == nil && !c.canChange(f.project) {
		err = c.permissionDenied("applications", action, f.project+"/"+f.name)
	}
	t = &target{found: f}
	if err == nil {
		t.m, err = parse(c.bodyOf(f))
	}
	if err != nil {
		c.writing.Unlock()
		return nil, nil, err
	}
	return t, c.writing.Unlock, nil
}

func (c *call) save(t *target) ([]byte, error) {
	return c.store(t.kind, t.m, t.index >= 0)
}

// saved saves and answers with the object.
func (c *call) saved(t *target) error {
	body, err := c.save(t)
	if err != nil {
		return err
	}
	return c.answer(body)
}

// refresh compares an application anew, which nothing but its times shows.
func (c *call) refresh(f found) (found, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	f, ok := c.find(applications, f.namespace, f.name)
	if !ok {
		return f, denied()
	}
	m, err := parse(c.bodyOf(f))
	if err != nil {
		return f, err
	}
	ensureObject(m, "status")["reconciledAt"] = now()
	_, err = c.save(&target{f, m})
	f, _ = c.find(applications, f.namespace, f.name)
	return f, err
}

// create stores a new object, or changes the one of its name if upsert allows it. different
// is what the server says where it does not.
func (c *call) create(k kind, m obj, upsert bool, different string) error {
	f, exists := c.find(k, space(text(m, "metadata", "namespace")), text(m, "metadata", "name"))
	if !exists {
		c.fillMetadata(m)
		return c.saved(&target{f, m})
	}
	old, err := parse(c.bodyOf(f))
	if err != nil {
		return err
	}
	if !same(old["spec"], m["spec"]) {
		if !upsert {
			return refuse(invalidArgument, "%s", different)
		}
		merge(old, m)
	}
	return c.saved(&target{f, old})
}

// update merges what a request says into an object, unless it means an older one.
func (c *call) update(t *target, m obj, plural string) error {
	if want := text(m, "metadata", "resourceVersion"); want != "" && want != text(t.m, "metadata", "resourceVersion") {
		return refuse(aborted, "Operation cannot be fulfilled on %s.argoproj.io %q: the object has been modified; please apply your changes to the latest version and try again", plural, t.name)
	}
	merge(t.m, m)
	return c.saved(t)
}

// remove deletes an object and says so.
func (c *call) remove(f found) error {
	c.revision.Add(1)
	if err := c.stored[f.kind].put(&entry{head: f.head, key: f.namespace + "/" + f.name}, f.index >= 0); err != nil {
		return err
	}
	return c.answer([]byte(`{}`))
}

// valid checks an application as the server does before it stores one.
func (c *call) valid(m obj) error {
	name, project := text(m, "metadata", "name"), text(m, "spec", "project")
	if project == "" {
		project = "default"
	}
	if !c.exists(projects, project) {
		return refuse(invalidArgument, "app is not allowed in project %q, or the project does not exist", project)
	}
	if name == "" {
		return refuse(unknown, "error while validating and normalizing app: resource name may not be empty")
	}
	if !dnsName(name) {
		return refuse(invalidArgument, "error while validating and normalizing app: Application.argoproj.io %q is invalid: metadata.name: Invalid value: %q: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character", name, name)
	}
	server, cluster := text(m, "spec", "destination", "server"), text(m, "spec", "destination", "name")
	switch {
	case server == "" && cluster == "":
		return refuse(invalidArgument, "application destination spec for %s is invalid: Destination server missing from app spec", name)
	case server != "" && cluster != "":
		return refuse(invalidArgument, "application destination spec for %s is invalid: application destination can't have both name and server defined: %s %s", name, cluster, server)
	}
	if _, ok := c.findCluster(cluster, server); !ok {
		if server != "" {
			return refuse(invalidArgument, "application destination spec for %s is invalid: error getting cluster by server %q: rpc error: code = NotFound desc = cluster %q not found", name, server, server)
		}
		return refuse(invalidArgument, "application destination spec for %s is invalid: unable to find destination server: there are no clusters with this name: %s", name, cluster)
	}
	sources, _ := lookup(m, "spec", "sources").([]any)
	if source, ok := lookup(m, "spec", "source").(obj); ok {
		sources = append(sources, source)
	}
	if len(sources) == 0 {
		return refuse(invalidArgument, "application spec for %s is invalid: InvalidSpecError: spec.source.repoURL and either spec.source.path, spec.source.chart, or spec.source.ref are required", name)
	}
	for _, source := range sources {
		src, _ := source.(obj)
		if text(src, "repoURL") == "" || text(src, "path") == "" && text(src, "chart") == "" && text(src, "ref") == "" {
			return refuse(invalidArgument, "application spec for %s is invalid: InvalidSpecError: spec.source.repoURL and either spec.source.path, spec.source.chart, or spec.source.ref are required", name)
		}
	}
	ensureObject(m, "spec")["project"] = project
	return nil
}

// dnsName reports whether Kubernetes takes a name for an object.
func dnsName(name string) bool {
	if len(name) == 0 || len(name) > 253 {
		return false
	}
	for i := range len(name) {
		ok := name[i] >= 'a' && name[i] <= 'z' || name[i] >= '0' && name[i] <= '9'
		if !ok && (i == 0 || i == len(name)-1 || name[i] != '-' && name[i] != '.') {
			return false
		}
	}
	return true
}

// fillMetadata adds the metadata that the API server of Kubernetes adds to a new object.
func (s *Simulator) fillMetadata(m obj) {
	meta := ensureObject(m, "metadata")
	if text(meta, "namespace") == "" {
		meta["namespace"] = "argocd"
	}
	d := roll(s.seed, partMeta, uint64(s.revision.Load())+1<<43)
	meta["uid"] = string(d.uid(nil))
	meta["generation"], meta["creationTimestamp"] = 1, now()
	delete(m, "kind")
	delete(m, "apiVersion")
}

// same reports whether two specs are equal.
func same(a, b any) bool { return bytes.Equal(marshal(a), marshal(b)) }

func createApplication(c *call) error {
	m := obj{}
	if err := c.read(&m); err != nil {
		return err
	}
	upsert, err := c.flag("upsert")
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	project := text(m, "spec", "project")
	if project == "" {
		project = "default"
	}
	if !c.canChange(project) {
		return c.permissionDenied("applications", "create", project+"/"+text(m, "metadata", "name"))
	}
	if err := c.valid(m); err != nil {
		return err
	}
	m["status"] = obj{
		"sync":   obj{"status": "", "comparedTo": obj{"source": obj{"repoURL": ""}, "destination": obj{}}},
		"health": obj{}, "summary": obj{}, "sourceHydrator": obj{},
	}
	return c.create(applications, m, upsert, "existing application spec is different, use upsert flag to force update")
}

// merge takes over what an update changes: the spec, and labels and annotations beside
// those that are there.
func merge(old, m obj) {
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

func updateSpec(c *call) error {
	spec := obj{}
	if err := c.read(&spec); err != nil {
		return err
	}
	t, done, err := c.forWriting("", "", "update")
	if err != nil {
		return err
	}
	defer done()
	t.m["spec"] = spec
	if err := c.valid(t.m); err != nil {
		return err
	}
	if _, err := c.save(t); err != nil {
		return err
	}
	return c.answer(marshal(spec))
}

func deleteApplication(c *call) error {
	cascade, policy := true, c.query.Get("propagationPolicy")
	if c.query.Get("cascade") != "" {
		var err error
		if cascade, err = c.flag("cascade"); err != nil {
			return err
		}
	}
	t, done, err := c.forWriting("", "", "delete")
	if err != nil {
		return err
	}
	defer done()
	if !cascade && policy != "" {
		return refuse(invalidArgument, "cannot set propagation policy when cascading is disabled")
	}
	switch policy {
	case "", "foreground", "background", "orphan":
	default:
		return refuse(invalidArgument, "invalid propagation policy: %s", policy)
	}
	return c.remove(t.found)
}
