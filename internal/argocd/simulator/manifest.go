package simulator

import "strings"

// manifestOf returns an object's manifest as JSON, made by dice. Live ones have what a cluster adds; drifted ones differ from the target
// where a human would have edited.
func (s *Simulator) manifestOf(app string, o *object, live, drifted bool) string {
	v := s.shownFields(app, o)
	v.live = live
	e := newDice(s.diceOf(app, o).state, partTree, 2)
	v.replicas, v.image = 1+e.intn(5), version(&e, "v", "")
	v.edited = drifted
	if drifted {
		v.replicas++
	}
	kind := "manifest/" + o.Kind
	if s.sections[kind] == nil {
		kind = "manifest/other"
	}
	v.rest = s.render(nil, kind, &v, 0, dice{})
	return string(s.render(nil, "manifest", &v, 0, dice{}))
}

// compared is an object with its target and what is in the cluster.
type compared struct {
	group, kind, namespace, name, target, live, predicted string
	modified                                              bool
}

// getManaged answers with live and target of each resource of an application, or of those that the query names.
func getManaged(c *call) {
	_, t := c.requestedContent()
	s := c.sink()
	s.b = append(s.b, `{"items":`...)
	s.array(func() {
		for _, o := range t.objects {
			if !c.selects(&o, "name") {
				continue
			}
			s.beginItem()
			v := compared{group: o.Group, kind: o.Kind, namespace: o.Namespace, name: o.Name, modified: o.Status == "OutOfSync"}
			v.target, v.predicted = c.manifestOf(t.name, &o, false, false), c.manifestOf(t.name, &o, true, false)
			v.live = c.manifestOf(t.name, &o, true, v.modified && !o.RequiresPruning)
			if o.RequiresPruning {
				v.target, v.predicted = "null", "null"
			}
			if o.missing() {
				v.live = "null"
			}
			s.b = c.render(s.b, "compared", &v, 0, dice{})
		}
	})
	if s.items == 0 {
		s.b = append(s.b[:0], '{')
	}
	s.b = append(s.b, '}')
	s.flush()
}

// selects reports whether the query names the object, or no object at all. name is the parameter with the object's name.
func (c *call) selects(o *object, name string) bool {
	for key, value := range map[string]string{name: o.Name, "namespace": o.Namespace, "kind": o.Kind, "group": o.Group, "version": o.Version} {
		if q := c.query.Get(key); q != "" && q != value {
			return false
		}
	}
	return true
}

// getManifests answers with the desired manifests of all resources of an application, at a commit drawn from the seed.
func getManifests(c *call) {
	_, t := c.requestedContent()
	var manifests []string
	for _, o := range t.objects {
		manifests = append(manifests, c.manifestOf(t.name, &o, false, false))
	}
	d := c.diceOf(t.name, &object{Kind: "Manifests"})
	c.answer(cat(nil, `{"manifests":`, string(marshal(manifests)), `,"revision":"`, d.commit(), `","sourceType":"Helm"}`))
}

// resourceNamed returns the resource, or pod below one, that the query names, and its application. It refuses the call if there is none.
func (c *call) resourceNamed() (app string, o object) {
	_, t := c.requestedContent()
	name, kind := c.query.Get("resourceName"), c.query.Get("kind")
	for _, o := range t.objects {
		for _, member := range c.withPods(t.name, &o) {
			if member.Name == name && member.Kind == kind && c.selects(&member, "resourceName") {
				return t.name, member
			}
		}
	}
	panic(newRefusal(invalidArgument, "%s %s %s not found as part of application %s", kind, c.query.Get("group"), name, t.name))
}

func getResource(c *call) {
	app, o := c.resourceNamed()
	c.answer(marshal(obj{"manifest": c.manifestOf(app, &o, true, o.Status == "OutOfSync")}))
}

type action struct {
	name, title string
	scale       bool
}

// actionsOf returns what can be done to a kind of resource, resource_customizations of Argo CD.
func actionsOf(kind string) []string {
	return strings.Fields(map[string]string{
		"Deployment":     "restart scale",
		"StatefulSet":    "restart scale",
		"Rollout":        "abort promote-full restart resume retry",
		"CronJob":        "create-job resume suspend",
		"ExternalSecret": "refresh",
		"Job":            "resume suspend terminate",
	}[kind])
}

// getActions answers with the actions that a resource of this kind has.
func getActions(c *call) {
	app, o := c.resourceNamed()
	v := c.shownFields(app, &o)
	for _, name := range actionsOf(o.Kind) {
		v.actions = append(v.actions, action{name, strings.ToUpper(name[:1]) + name[1:], name == "scale"})
	}
	c.answer(c.render(nil, "actions", &v, 0, dice{}))
}
