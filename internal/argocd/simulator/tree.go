package simulator

import (
	"encoding/json"
	"hash/fnv"
	"strconv"
	"strings"
)

// object is one of status.resources of an application's bytes: what the tree, the manifests
// and the logs are made of.
type object struct {
	Group, Version, Kind, Namespace, Name string
	Status                                string
	Health                                *struct{ Status, Message string }
	RequiresPruning                       bool
}

// content holds the parts of an application that the calls below it need.
type content struct {
	name    string
	objects []object
	orphans int
	images  []string
}

func (c *call) content() (found, content, error) {
	f, err := c.object(applications)
	if err != nil {
		return f, content{}, err
	}
	var app struct {
		Status struct {
			Resources  []object
			Summary    struct{ Images []string }
			Conditions []struct{ Type string }
		}
	}
	// What was stored with another shape of status has no resources.
	_ = json.Unmarshal(c.bodyOf(f), &app)
	t := content{name: f.name, objects: app.Status.Resources, images: app.Status.Summary.Images}
	for _, condition := range app.Status.Conditions {
		if condition.Type == "OrphanedResourceWarning" {
			t.orphans = 3
		}
	}
	return f, t, nil
}

// diceOf returns the dice of one object, the same in every call.
func (s *Simulator) diceOf(app string, o *object) dice {
	h := fnv.New64a()
	for _, part := range []string{app, o.Group, o.Kind, o.Namespace, o.Name} {
		_, _ = h.Write([]byte(part + "\x00")) // a hash takes everything
	}
	return roll(s.seed, partTree, h.Sum64())
}

func (s *Simulator) uidOf(app string, o *object) []byte {
	d := s.diceOf(app, o)
	return d.uid(nil)
}

func (o *object) known(kinds []resourceKind) resourceKind {
	for _, k := range kinds {
		if k.kind == o.Kind && k.group == o.Group {
			return k
		}
	}
	return resourceKind{}
}

// shown is an object as one of the calls below an application shows it.
type shown struct {
	app, group, version, kind, namespace, name, api string
	health, message, label                          string
	parentGroup, parentKind, parentName, parentUID  string
	replicaSet, pod, degraded                       bool
	images                                          []string

	id, image                                       string
	live, workload, config, secret, service, edited bool
	revision, replicas                              int

	actions []action
	events  []event
}

func (o *object) shown(app string) shown {
	v := shown{app: app, group: o.Group, version: o.Version, kind: o.Kind, namespace: o.Namespace, name: o.Name, api: o.Version}
	if o.Group != "" {
		v.api = o.Group + "/" + o.Version
	}
	return v
}

// writeNode appends a node of the tree and a comma to b; change may alter what is shown of the object.
func (s *Simulator) writeNode(b []byte, app string, o *object, change func(*shown)) []byte {
	v := o.shown(app)
	change(&v)
	return append(s.render(b, "node", &v, 0, s.diceOf(app, o)), ',')
}

// below makes an object the parent.
func (v *shown) below(o *object, uid []byte) {
	v.parentGroup, v.parentKind, v.parentName, v.parentUID = o.Group, o.Kind, o.Name, string(uid)
}

func (o *object) missing() bool { return o.Health != nil && o.Health.Status == "Missing" }

// pods returns the pods of an object and, where there is one between, its replica set.
func (s *Simulator) pods(app string, o *object) (set *object, pods []object) {
	if !o.known(s.kinds).pods || o.missing() {
		return nil, nil
	}
	d := roll(s.diceOf(app, o).state, partTree, 1)
	owner := o.Name
	if o.Kind == "Deployment" || o.Kind == "Rollout" {
		owner += "-" + string(hex(nil, d.next(), 9))
		set = &object{Group: "apps", Version: "v1", Kind: "ReplicaSet", Namespace: o.Namespace, Name: owner}
	}
	for i := range 1 + d.intn(3) {
		suffix := string(hex(nil, d.next(), 5))
		if o.Kind == "StatefulSet" {
			suffix = strconv.Itoa(i)
		}
		pods = append(pods, object{Version: "v1", Kind: "Pod", Namespace: o.Namespace, Name: owner + "-" + suffix})
	}
	return set, pods
}

// writeTree writes the resource tree.
func (s *Simulator) writeTree(t *content) []byte {
	b := []byte(`{"nodes":[`)
	hosts := false
	for i := range t.objects {
		o := &t.objects[i]
		health, message := "", ""
		switch {
		case o.missing():
			continue
		case o.Health != nil:
			health, message = o.Health.Status, o.Health.Message
		case o.known(s.kinds).healthy:
			health = "Healthy"
		}
		sick := func(v *shown) { v.health, v.message, v.degraded = health, message, health == "Degraded" }
		b = s.writeNode(b, t.name, o, sick)
		set, pods := s.pods(t.name, o)
		above := o
		if set != nil {
			above = set
			b = s.writeNode(b, t.name, set, func(v *shown) {
				sick(v)
				v.below(o, s.uidOf(t.name, o))
				v.replicaSet = true
			})
		}
		for j := range pods {
			hosts = true
			b = s.writeNode(b, t.name, &pods[j], func(v *shown) {
				sick(v)
				v.below(above, s.uidOf(t.name, above))
				v.pod, v.label, v.images = true, o.Name, t.images
			})
		}
	}
	if b[len(b)-1] == '[' {
		return []byte(`{}`)
	}
	b[len(b)-1] = ']'
	if t.orphans > 0 {
		b = append(b, `,"orphanedNodes":[`...)
		for i := range t.orphans {
			o := object{Version: "v1", Kind: "ConfigMap", Namespace: t.objects[0].Namespace, Name: "orphan-" + strconv.Itoa(i)}
			b = s.writeNode(b, t.name, &o, func(*shown) {})
		}
		b[len(b)-1] = ']'
	}
	if hosts {
		b = s.render(append(b, `,"hosts":`...), "hosts", &shown{}, 0, dice{})
	}
	return append(b, '}')
}

func getTree(c *call) error {
	_, t, err := c.content()
	if err != nil {
		return err
	}
	return c.answer(c.writeTree(&t))
}

// getEvents tells of the application, or of the resource the query names.
func getEvents(c *call) error {
	f, t, err := c.content()
	if err != nil {
		return err
	}
	about := object{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application", Namespace: f.namespace, Name: f.name}
	if name := c.query.Get("resourceName"); name != "" {
		about = object{}
		for _, o := range t.objects {
			if o.Name == name && o.Namespace == c.query.Get("resourceNamespace") {
				about = o
			}
			_, pods := c.pods(t.name, &o)
			for _, p := range pods {
				if p.Name == name {
					about = p
				}
			}
		}
		if about.Name == "" {
			return refuse(invalidArgument, "%s not found as part of application %s", name, f.name)
		}
	}
	v := about.shown(t.name)
	v.id = string(c.uidOf(t.name, &about))
	v.events = []event{
		{reason: "OperationStarted", message: "Initiated automated sync to '", level: "Normal", begins: true},
		{reason: "ResourceUpdated", message: "Updated sync status: OutOfSync -> Synced", level: "Normal"},
		{reason: "OperationCompleted", message: "Sync operation succeeded", level: "Normal"},
		{reason: "Unhealthy", message: "Readiness probe failed: HTTP probe failed with statuscode: 503", level: "Warning"},
	}
	for i := range v.events {
		e := &v.events[i]
		e.revision, e.from, e.to = 2700+i, stamped(0, 7*3600+i*60), stamped(0, 7*3600+i*60+30)
	}
	b := cat(nil, `{"metadata":`, c.meta(), `,"items":`)
	return c.answer(append(c.render(b, "events", &v, 0, c.diceOf(t.name, &about)), '}'))
}

// event describes something that happened to an object.
type event struct {
	reason, message, level, from, to string
	begins                           bool
	revision                         int
}

// windows returns the sync windows of a project.
func (s *Simulator) windows(project string) []map[string]any {
	f, ok := s.find(projects, "argocd", project)
	if !ok {
		return nil
	}
	return windowsOf(s.bodyOf(f))
}

// getWindows tells of the windows of the application's project that mean it.
func getWindows(c *call) error {
	f, err := c.object(applications)
	if err != nil {
		return err
	}
	var assigned []map[string]any
	for _, w := range c.windows(f.project) {
		patterns, _ := w["applications"].([]any)
		for _, p := range patterns {
			text, _ := p.(string)
			before, isPrefix := strings.CutSuffix(text, "*")
			if text == f.name || isPrefix && strings.HasPrefix(f.name, before) {
				assigned = append(assigned, map[string]any{"kind": w["kind"], "schedule": w["schedule"], "duration": w["duration"], "manualSync": w["manualSync"] == true})
				break
			}
		}
	}
	if len(assigned) == 0 {
		return c.answer([]byte(`{"canSync":true}`))
	}
	return c.answer(marshal(obj{"assignedWindows": assigned, "canSync": true}))
}
