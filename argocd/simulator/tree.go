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

// content is what the calls below an application need of it.
type content struct {
	name    string
	objects []object
	orphans int
	images  []string
}

func (c *call) content() (foundApplication, content, error) {
	f, err := c.application()
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

// writeNode writes a node of the tree; below are the bytes of parentRefs and what else
// stands before the health.
func (s *Simulator) writeNode(b []byte, app string, o *object, health, message string, below []byte) []byte {
	d := s.diceOf(app, o)
	b = append(b, '{')
	if o.Group != "" {
		b = cat(b, `"group":"`, quoted(o.Group), `",`)
	}
	b = cat(b, `"version":"`, quoted(o.Version), `","kind":"`, quoted(o.Kind), `"`)
	if o.Namespace != "" {
		b = cat(b, `,"namespace":"`, quoted(o.Namespace), `"`)
	}
	b = cat(b, `,"name":"`, quoted(o.Name), `","uid":"`)
	b = append(d.uid(b), '"')
	b = append(b, below...)
	b = append(b, `,"resourceVersion":"`...)
	b = append(number(b, 100_000_000+d.intn(900_000_000)), '"')
	if health != "" {
		b = append(b, `,"health":`...)
		b = append(b, `{"status":"`...)
		b = cat(b, quoted(health), `"`)
		if message != "" {
			b = cat(b, `,"message":"`, quoted(message), `"`)
		}
		b = append(b, '}')
	}
	b = append(b, `,"createdAt":"`...)
	return append(moment(b, 30+d.intn(300), 8*3600), `"}`...)
}

func parent(o *object, uid []byte) []byte {
	b := []byte(`,"parentRefs":[{`)
	if o.Group != "" {
		b = cat(b, `"group":"`, quoted(o.Group), `",`)
	}
	b = cat(b, `"kind":"`, quoted(o.Kind), `","namespace":"`, quoted(o.Namespace), `","name":"`, quoted(o.Name), `","uid":"`)
	return append(append(b, uid...), `"}]`...)
}

// pods returns the pods of an object and, where there is one between, its replica set.
func (s *Simulator) pods(app string, o *object) (set *object, pods []object) {
	if !o.known(s.kinds).pods || o.Health != nil && o.Health.Status == "Missing" {
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
func (s *Simulator) writeTree(b []byte, t *content) []byte {
	b = append(b, `{"nodes":[`...)
	first := true
	next := func() {
		if !first {
			b = append(b, ',')
		}
		first = false
	}
	hosts := false
	for i := range t.objects {
		o := &t.objects[i]
		if o.Health != nil && o.Health.Status == "Missing" {
			continue
		}
		health, message := "", ""
		if o.known(s.kinds).healthy {
			health = "Healthy"
		}
		if o.Health != nil {
			health, message = o.Health.Status, o.Health.Message
		}
		next()
		b = s.writeNode(b, t.name, o, health, message, nil)
		set, pods := s.pods(t.name, o)
		above := o
		if set != nil {
			next()
			b = s.writeNode(b, t.name, set, health, message, append(parent(o, s.uidOf(t.name, o)), `,"info":[{"name":"Revision","value":"Rev:1"}]`...))
			above = set
		}
		for j := range pods {
			next()
			hosts = true
			info := parent(above, s.uidOf(t.name, above))
			status, ready := "Running", "2/2"
			if health == "Degraded" {
				status, ready = "CrashLoopBackOff", "1/2"
			}
			info = cat(info, `,"info":[{"name":"Status Reason","value":"`, status, `"},{"name":"Node","value":"node-1"},{"name":"Containers","value":"`, ready, `"}],"networkingInfo":{"labels":{"app":"`, quoted(o.Name), `"}}`)
			if len(t.images) > 0 {
				info = append(append(info, `,"images":`...), marshal(t.images)...)
			}
			b = s.writeNode(b, t.name, &pods[j], health, message, info)
		}
	}
	if first {
		b = append(b[:len(b)-len(`"nodes":[`)], '}')
		return b
	}
	b = append(b, ']')
	if t.orphans > 0 {
		b = append(b, `,"orphanedNodes":[`...)
		for i := range t.orphans {
			if i > 0 {
				b = append(b, ',')
			}
			o := object{Version: "v1", Kind: "ConfigMap", Namespace: t.objects[0].Namespace, Name: "orphan-" + strconv.Itoa(i)}
			b = s.writeNode(b, t.name, &o, "", "", nil)
		}
		b = append(b, ']')
	}
	if hosts {
		b = append(b, `,"hosts":[{"name":"node-1","resourcesInfo":[{"resourceName":"cpu","requestedByApp":1500,"requestedByNeighbors":5200,"capacity":8000},{"resourceName":"memory","requestedByApp":2147483648000,"requestedByNeighbors":17179869184000,"capacity":34359738368000}],`+
			`"systemInfo":{"machineID":"","systemUUID":"","bootID":"","kernelVersion":"6.12.41","osImage":"Debian GNU/Linux 13 (trixie)","containerRuntimeVersion":"containerd://2.1.4","kubeletVersion":"v1.33.4","kubeProxyVersion":"","operatingSystem":"linux","architecture":"amd64"}}]`...)
	}
	return append(b, '}')
}

func getTree(c *call) error {
	_, t, err := c.content()
	if err != nil {
		return err
	}
	return c.answer(c.writeTree(nil, &t))
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
	d := c.diceOf(t.name, &about)
	uid := string(c.uidOf(t.name, &about))
	group := about.Version
	if about.Group != "" {
		group = about.Group + "/" + about.Version
	}
	b := cat(nil, `{"metadata":`, c.meta(), `,"items":[`)
	reasons := [...][3]string{
		{"OperationStarted", "Initiated automated sync to '", "Normal"},
		{"ResourceUpdated", "Updated sync status: OutOfSync -> Synced", "Normal"},
		{"OperationCompleted", "Sync operation succeeded", "Normal"},
		{"Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503", "Warning"},
	}
	for i := range 1 + d.intn(4) {
		if i > 0 {
			b = append(b, ',')
		}
		b = cat(b, `{"metadata":{"name":"`, quoted(about.Name), ".")
		b = cat(hex(b, d.next(), 16), `","namespace":"`, quoted(about.Namespace), `","uid":"`)
		b = append(d.uid(b), `","resourceVersion":"`...)
		b = append(number(b, 2700+i), `","creationTimestamp":"2026-11-20T10:03:39Z"},"involvedObject":{"kind":"`...)
		b = cat(b, quoted(about.Kind), `","namespace":"`, quoted(about.Namespace), `","name":"`, quoted(about.Name), `","uid":"`, uid, `","apiVersion":"`, quoted(group), `"},"reason":"`, reasons[i][0], `","message":"`, reasons[i][1])
		if i == 0 {
			b = append(d.hash(b), '\'')
		}
		b = append(b, `","source":{"component":"argocd-application-controller"},"firstTimestamp":"`...)
		b = append(moment(b, 0, 7*3600+i*60), `","lastTimestamp":"`...)
		b = append(moment(b, 0, 7*3600+i*60+30), `","count":`...)
		b = cat(number(b, 1+d.intn(5)), `,"type":"`, reasons[i][2], `","eventTime":null,"reportingComponent":"","reportingInstance":""}`)
	}
	return c.answer(append(b, `]}`...))
}

// getWindows tells of the windows of the application's project that mean it.
func getWindows(c *call) error {
	f, err := c.application()
	if err != nil {
		return err
	}
	body, _ := c.projectNamed(f.project)
	var assigned []map[string]any
	can := true
	for _, w := range windowsOf(body) {
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
	return c.answer(cat(cat(append([]byte(`{"assignedWindows":`), marshal(assigned)...), `,"canSync":`), strconv.FormatBool(can), `}`))
}

func isHex(text string) bool {
	return strings.Trim(text, "0123456789abcdef") == ""
}

func getRevision(c *call) error {
	f, err := c.application()
	if err != nil {
		return err
	}
	revision := c.args[1]
	if len(revision) != 40 || !isHex(revision) {
		return refuse(unknown, "revision %s must be resolved", revision)
	}
	d := c.diceOf(f.name, &object{Kind: "Revision", Name: revision})
	b := cat(nil, `{"author":"`, d.of(c.words.people), ` <dev@corp.example.net>","date":"`)
	b = append(d.stamp(b, 1, 90), `","message":"Update the image of `...)
	return c.answer(cat(b, quoted(f.name), `\n\nReviewed-on: https://git.corp.example.net/reviews/1"}`))
}

func getChart(c *call) error {
	f, err := c.application()
	if err != nil {
		return err
	}
	return c.answer(cat(nil, `{"description":"The chart of `, quoted(f.name), `","maintainers":["platform <platform@corp.example.net>"],"home":"https://wiki.corp.example.net/charts"}`))
}
