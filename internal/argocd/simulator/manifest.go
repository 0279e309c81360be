package simulator

import (
	"strconv"
	"strings"
)

// manifest returns an object's manifest. Live ones have what a cluster adds; drifted ones
// differ from the target where a human would have edited.
func (s *Simulator) manifest(app string, o *object, live, drifted bool) string {
	d := s.diceOf(app, o)
	v := o.shown(app)
	v.id, v.live = string(d.uid(nil)), live
	if live {
		v.revision = 100_000_000 + d.intn(900_000_000)
	}
	e := roll(d.state, partTree, 2)
	v.replicas, v.image = 1+e.intn(5), version(&e, "v", "")
	if drifted {
		v.replicas++
	}
	switch o.Kind {
	case "Deployment", "StatefulSet", "Rollout":
		v.workload = true
	case "ConfigMap":
		v.config = true
	case "Secret": // the server itself hides the values, util/argo/diff of Argo CD
		v.secret = true
	case "Service":
		v.service = true
	default:
		v.edited = drifted
	}
	return string(s.render(nil, "manifest", &v, 0, dice{}))
}

// compared is an object with its target and what is in the cluster.
type compared struct {
	group, kind, namespace, name, target, live, predicted string
	modified                                              bool
}

// getManaged compares live and target of each resource. The query may name one.
func getManaged(c *call) error {
	_, t, err := c.content()
	if err != nil {
		return err
	}
	s := c.sink()
	s.b = append(s.b, `{"items":[`...)
	for i := range t.objects {
		o := &t.objects[i]
		if !c.asked(o, "name", "namespace") {
			continue
		}
		if !s.item() {
			return s.err
		}
		v := compared{group: o.Group, kind: o.Kind, namespace: o.Namespace, name: o.Name, modified: o.Status == "OutOfSync"}
		v.target, v.predicted = c.manifest(t.name, o, false, false), c.manifest(t.name, o, true, false)
		v.live = c.manifest(t.name, o, true, v.modified && !o.RequiresPruning)
		if o.RequiresPruning {
			v.target, v.predicted = "null", "null"
		}
		if o.missing() {
			v.live = "null"
		}
		s.b = c.render(s.b, "compared", &v, 0, dice{})
	}
	if s.items == 0 {
		s.b = append(s.b[:0], `{}`...)
	} else {
		s.b = append(s.b, `]}`...)
	}
	return s.end()
}

// asked reports whether the query names an object, or nothing at all.
func (c *call) asked(o *object, name, namespace string) bool {
	for key, value := range map[string]string{name: o.Name, namespace: o.Namespace, "kind": o.Kind, "group": o.Group, "version": o.Version} {
		if q := c.query.Get(key); q != "" && q != value {
			return false
		}
	}
	return true
}

func getManifests(c *call) error {
	f, t, err := c.content()
	if err != nil {
		return err
	}
	var manifests []string
	for i := range t.objects {
		manifests = append(manifests, c.manifest(t.name, &t.objects[i], false, false))
	}
	d := c.diceOf(f.name, &object{Kind: "Manifests"})
	b := append(append([]byte(`{"manifests":`), marshal(manifests)...), `,"revision":"`...)
	return c.answer(append(d.hash(b), `","sourceType":"Helm"}`...))
}

// resourceNamed finds the resource, or pod below one, that the query names.
func (c *call) resourceNamed() (found, content, object, error) {
	f, t, err := c.content()
	if err != nil {
		return f, t, object{}, err
	}
	for i := range t.objects {
		o := t.objects[i]
		set, pods := c.pods(t.name, &o)
		if set != nil {
			pods = append(pods, *set)
		}
		for _, o := range append([]object{o}, pods...) {
			if o.Name == c.query.Get("resourceName") && c.asked(&o, "resourceName", "namespace") && o.Kind == c.query.Get("kind") {
				return f, t, o, nil
			}
		}
	}
	return f, t, object{}, refuse(invalidArgument, "%s %s %s not found as part of application %s",
		c.query.Get("kind"), c.query.Get("group"), c.query.Get("resourceName"), f.name)
}

func getResource(c *call) error {
	_, t, o, err := c.resourceNamed()
	if err != nil {
		return err
	}
	return c.answer(cat(nil, `{"manifest":"`, quoted(c.manifest(t.name, &o, true, o.Status == "OutOfSync")), `"}`))
}

// actions returns what can be done to a kind of resource, resource_customizations of Argo CD.
func actions(kind string) []string {
	switch kind {
	case "Deployment", "StatefulSet":
		return []string{"restart", "scale"}
	case "Rollout":
		return []string{"abort", "promote-full", "restart", "resume", "retry"}
	case "CronJob":
		return []string{"create-job", "resume", "suspend"}
	case "ExternalSecret":
		return []string{"refresh"}
	case "Job":
		return []string{"resume", "suspend", "terminate"}
	}
	return nil
}

func getActions(c *call) error {
	_, _, o, err := c.resourceNamed()
	if err != nil {
		return err
	}
	v := o.shown("")
	for _, name := range actions(o.Kind) {
		v.actions = append(v.actions, action{name, strings.ToUpper(name[:1]) + name[1:], name == "scale"})
	}
	return c.answer(c.render(nil, "actions", &v, 0, dice{}))
}

type action struct {
	name, title string
	scale       bool
}

// flag reads a parameter as the gateway does.
func (c *call) flag(name string) (bool, error) {
	text := c.query.Get(name)
	if text == "" {
		return false, nil
	}
	v, err := strconv.ParseBool(text)
	if err != nil {
		return false, malformed(err)
	}
	return v, nil
}

// whole reads a whole number of the query; 0 if it is not there.
func (c *call) whole(name string) (int64, error) {
	text := c.query.Get(name)
	if text == "" {
		return 0, nil
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, malformed(err)
	}
	return v, nil
}
