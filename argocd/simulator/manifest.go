package simulator

import (
	"strconv"
	"strings"
)

// writeManifest writes an object's manifest. Live ones have what a cluster adds; drifted
// ones differ from the target where a human would have edited.
func (s *Simulator) writeManifest(b []byte, app string, o *object, live, drifted bool) []byte {
	d := s.diceOf(app, o)
	uid := d.uid(nil)
	api := o.Version
	if o.Group != "" {
		api = o.Group + "/" + o.Version
	}
	b = cat(b, `{"apiVersion":"`, quoted(api), `","kind":"`, quoted(o.Kind), `","metadata":{"name":"`, quoted(o.Name), `"`)
	if o.Namespace != "" {
		b = cat(b, `,"namespace":"`, quoted(o.Namespace), `"`)
	}
	if live {
		b = cat(b, `,"uid":"`, string(uid), `","resourceVersion":"`)
		b = append(number(b, 100_000_000+d.intn(900_000_000)), `","creationTimestamp":"2026-08-16T08:00:00Z"`...)
	}
	b = cat(b, `,"labels":{"app.kubernetes.io/instance":"`, quoted(app), `"}}`)
	e := roll(d.state, partTree, 2)
	replicas, tag := 1+e.intn(5), version(&e, "v", "")
	if drifted {
		replicas++
	}
	switch o.Kind {
	case "Deployment", "StatefulSet", "Rollout":
		b = append(b, `,"spec":{"replicas":`...)
		b = cat(number(b, replicas), `,"selector":{"matchLabels":{"app":"`, quoted(o.Name), `"}},"template":{"metadata":{"labels":{"app":"`, quoted(o.Name),
			`"}},"spec":{"containers":[{"name":"app","image":"registry.corp.example.net/app/`, quoted(o.Name), ":", tag,
			`","env":[{"name":"DATABASE_PASSWORD","valueFrom":{"secretKeyRef":{"name":"db","key":"password"}}}],"ports":[{"containerPort":8080}]},{"name":"proxy","image":"registry.corp.example.net/infra/envoy:v1.24.0"}]}}}`)
		if live {
			b = append(b, `,"status":{"observedGeneration":2,"replicas":`...)
			b = append(number(b, replicas), '}')
		}
	case "ConfigMap":
		b = append(b, `,"data":{"LOG_LEVEL":"info","WORKERS":"`...)
		b = append(number(b, replicas), `","application.yaml":"server:\n  port: 8080\n"}`...)
	case "Secret":
		// The server itself puts this in place of values, util/argo/diff of Argo CD.
		b = append(b, `,"type":"Opaque","data":{"password":"++++++++","token":"++++++++"}`...)
	case "Service":
		b = cat(b, `,"spec":{"selector":{"app":"`, quoted(o.Name), `"},"ports":[{"port":80,"targetPort":8080,"protocol":"TCP"}]`)
		if live {
			b = append(b, `,"clusterIP":"10.96.12.7"`...)
		}
		b = append(b, '}')
	default:
		if drifted {
			b = append(b, `,"spec":{"edited":true}`...)
		}
	}
	return append(b, '}')
}

// manifest returns a manifest as a string of JSON.
func (s *Simulator) manifest(app string, o *object, live, drifted bool) string {
	return string(s.writeManifest(nil, app, o, live, drifted))
}

// getManaged compares live and target of each resource. The query may name one.
func getManaged(c *call) error {
	_, t, err := c.content()
	if err != nil {
		return err
	}
	p := prunes(c.query.Get("fields"))
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
		missing := o.Health != nil && o.Health.Status == "Missing"
		drifted := o.Status == "OutOfSync" && !missing && !o.RequiresPruning
		target, live := c.manifest(t.name, o, false, false), c.manifest(t.name, o, true, drifted)
		predicted := c.manifest(t.name, o, true, false)
		if o.RequiresPruning {
			target, predicted = "null", "null"
		}
		if missing {
			live = "null"
		}
		b := []byte{'{'}
		if o.Group != "" {
			b = cat(b, `"group":"`, quoted(o.Group), `",`)
		}
		b = cat(b, `"kind":"`, quoted(o.Kind), `"`)
		if o.Namespace != "" {
			b = cat(b, `,"namespace":"`, quoted(o.Namespace), `"`)
		}
		b = cat(b, `,"name":"`, quoted(o.Name), `","targetState":"`, quoted(target), `","liveState":"`, quoted(live),
			`","normalizedLiveState":"`, quoted(live), `","predictedLiveState":"`, quoted(predicted), `"`)
		if o.Status == "OutOfSync" {
			b = append(b, `,"modified":true`...)
		}
		b = append(b, '}')
		if p != nil {
			if b, err = p.apply("items", b); err != nil {
				return err
			}
		}
		s.b = append(s.b, b...)
	}
	if s.items == 0 {
		s.b = append(s.b[:0], `{}`...)
	} else {
		s.b = append(s.b, `]}`...)
	}
	return s.end()
}

// asked says whether the query names an object, or nothing at all.
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
func (c *call) resourceNamed() (foundApplication, content, object, error) {
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

// actions are what can be done to a kind of resource, resource_customizations of Argo CD.
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
	all := actions(o.Kind)
	if len(all) == 0 {
		return c.answer([]byte(`{}`))
	}
	b := []byte(`{"actions":[`)
	for i, name := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = cat(b, `{"name":"`, name, `","iconClass":"fa fa-fw fa-`, name, `","displayName":"`, strings.ToUpper(name[:1])+name[1:], `"`)
		if name == "scale" {
			b = append(b, `,"params":[{"name":"replicas","type":"number","default":"1"}]`...)
		}
		b = append(b, '}')
	}
	return c.answer(append(b, `]}`...))
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
