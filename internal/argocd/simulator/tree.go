package simulator

import (
	"encoding/json"
	"hash/fnv"
	"slices"
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

// requestedContent returns the application that the request names, with its resources and images. It refuses the call as
// requestedApplication does.
func (c *call) requestedContent() (found, content) {
	f := c.requestedObject(applications)
	var app struct {
		Status struct {
			Resources  []object
			Summary    struct{ Images []string }
			Conditions []struct{ Type string }
		}
	}
	// What was stored with another shape of status has no resources.
	_ = json.Unmarshal(f.write(nil), &app)
	t := content{name: f.name, objects: app.Status.Resources, images: app.Status.Summary.Images}
	for _, condition := range app.Status.Conditions {
		if condition.Type == "OrphanedResourceWarning" {
			t.orphans = 3
		}
	}
	return f, t
}

// diceOf returns the dice of one object, the same in every call.
func (s *Simulator) diceOf(app string, o *object) dice {
	h := fnv.New64a()
	for _, part := range []string{app, o.Group, o.Kind, o.Namespace, o.Name} {
		_, _ = h.Write([]byte(part + "\x00")) // a hash takes everything
	}
	return newDice(s.seed, partTree, h.Sum64())
}

// shown is an object as one of the calls below an application shows it.
type shown struct {
	app, group, version, kind, namespace, name, api string
	id, created                                     string
	revision                                        int

	health, message, label string
	parents                []shown // one or none
	replicaSet, pod        bool
	degraded               bool
	images                 []string

	image        string
	live, edited bool
	replicas     int
	rest         []byte // of a manifest, by kind

	actions []action
}

// shownFields returns the fields that answers show of a resource. Its id, revision and age are drawn from the seed.
func (s *Simulator) shownFields(app string, o *object) shown {
	v := shown{app: app, group: o.Group, version: o.Version, kind: o.Kind, namespace: o.Namespace, name: o.Name, api: o.Version}
	if o.Group != "" {
		v.api = o.Group + "/" + o.Version
	}
	d := s.diceOf(app, o)
	v.id, v.revision = string(d.uid(nil)), 100_000_000+d.intn(900_000_000)
	v.created = stamped(30+d.intn(300), 8*3600)
	return v
}

func (s *Simulator) kindOf(o *object) (k resourceKind) {
	if at := slices.IndexFunc(s.words.Kinds, func(k resourceKind) bool { return k.Kind == o.Kind && k.Group == o.Group }); at >= 0 {
		k = s.words.Kinds[at]
	}
	return k
}

func (o *object) missing() bool { return o.Health != nil && o.Health.Status == "Missing" }

// withPods returns an object with its replica set, where it has one, and its pods, made by dice: each is above what follows it, but pods
// are beside each other.
func (s *Simulator) withPods(app string, o *object) []object {
	all := []object{*o}
	if !s.kindOf(o).Pods || o.missing() {
		return all
	}
	d := newDice(s.diceOf(app, o).state, partTree, 1)
	owner := o.Name
	if o.Kind == "Deployment" || o.Kind == "Rollout" {
		owner += "-" + string(hex(nil, d.next(), 9))
		all = append(all, object{Group: "apps", Version: "v1", Kind: "ReplicaSet", Namespace: o.Namespace, Name: owner})
	}
	for i := range 1 + d.intn(3) {
		suffix := string(hex(nil, d.next(), 5))
		if o.Kind == "StatefulSet" {
			suffix = strconv.Itoa(i)
		}
		all = append(all, object{Version: "v1", Kind: "Pod", Namespace: o.Namespace, Name: owner + "-" + suffix})
	}
	return all
}

// tree holds what a resource tree shows.
type tree struct {
	nodes, orphans []shown
	hosts          bool
}

// getTree answers with the resource tree: for each resource that is not missing also those that controllers made of it, such as pods, and
// the application's orphans.
func getTree(c *call) {
	_, content := c.requestedContent()
	var t tree
	for _, o := range content.objects {
		if o.missing() {
			continue
		}
		health, message := "", ""
		if o.Health != nil {
			health, message = o.Health.Status, o.Health.Message
		} else if c.kindOf(&o).Healthy {
			health = "Healthy"
		}
		var above []shown
		for _, member := range c.withPods(content.name, &o) {
			v := c.shownFields(content.name, &member)
			v.parents, v.health, v.message, v.degraded = above, health, message, health == "Degraded"
			v.replicaSet, v.pod = above != nil && v.kind == "ReplicaSet", above != nil && v.kind == "Pod"
			if v.pod {
				v.label, v.images, t.hosts = o.Name, content.images, true
			} else {
				above = []shown{v}
			}
			t.nodes = append(t.nodes, v)
		}
	}
	if len(t.nodes) > 0 {
		for i := range content.orphans {
			t.orphans = append(t.orphans, c.shownFields(content.name, &object{Version: "v1", Kind: "ConfigMap", Namespace: content.objects[0].Namespace, Name: "orphan-" + strconv.Itoa(i)}))
		}
	}
	c.answer(c.render(nil, "tree", &t, 0, dice{}))
}

// getEvents answers with events of the application, or of the resource that the query names.
func getEvents(c *call) {
	f, t := c.requestedContent()
	about := object{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application", Namespace: f.namespace, Name: f.name}
	if name := c.query.Get("resourceName"); name != "" {
		about = object{}
		for _, o := range t.objects {
			for i, member := range c.withPods(t.name, &o) {
				if member.Name == name && (i > 0 || o.Namespace == c.query.Get("resourceNamespace")) {
					about = member
				}
			}
		}
		if about.Name == "" {
			refuseCall(invalidArgument, "%s not found as part of application %s", name, f.name)
		}
	}
	v := c.shownFields(t.name, &about)
	b := cat(nil, `{"metadata":`, c.meta(), `,"items":`)
	c.answer(append(c.render(b, "events", &v, 0, c.diceOf(t.name, &about)), '}'))
}

// getSyncWindows answers with the windows of the application's project that apply to it. canSync is always true.
func getSyncWindows(c *call) {
	f := c.requestedObject(applications)
	answer := obj{"canSync": true}
	var assigned []obj
	for _, w := range c.syncWindowsOf(f.project) {
		for _, p := range list(w, "applications") {
			text, _ := p.(string)
			before, isPrefix := strings.CutSuffix(text, "*")
			if text == f.name || isPrefix && strings.HasPrefix(f.name, before) {
				assigned = append(assigned, obj{"kind": w["kind"], "schedule": w["schedule"], "duration": w["duration"], "manualSync": w["manualSync"] == true})
				answer["assignedWindows"] = assigned
				break
			}
		}
	}
	c.answer(marshal(answer))
}
