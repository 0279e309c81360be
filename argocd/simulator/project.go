package simulator

// catalogue holds the projects: names made of domains and teams, and "default" at its place in
// the order of names.
type catalogue struct {
	nameSequence

	total int
	plain int // the number of "default"
}

func newCatalogue(n int, first, second []string) catalogue {
	c := catalogue{nameSequence: newNameSequence(max(n-1, 0), first, second, nil), total: n}
	if c.n > 0 {
		for i, domain := range first {
			if domain > "default" {
				c.plain, _ = c.span(i)
				break
			}
		}
	}
	return c
}

// title returns the name of project i of all.
func (c *catalogue) title(i int) string {
	switch {
	case i == c.plain:
		return "default"
	case i > c.plain:
		i--
	}
	return c.name(i)
}

func (c *catalogue) lookup(name string) (int, bool) {
	if name == "default" {
		return c.plain, c.total > 0
	}
	i, ok := c.find(name)
	if i >= c.plain {
		i++
	}
	return i, ok
}

// project is what is decided about a generated project.
type project struct {
	index        int
	name, domain string
}

func (s *Simulator) project(i int) project {
	name := s.projects.title(i)
	domain, _, ok := leading(s.projects.first, name)
	p := project{index: i, name: name}
	if ok {
		p.domain = s.projects.first[domain]
	}
	return p
}

func (s *Simulator) writeProject(b []byte, p project) []byte {
	d := roll(s.seed, partProject, uint64(p.index))
	b = cat(b, `{"metadata":{"name":"`, p.name, `","namespace":"argocd","uid":"`)
	b = append(d.uid(b), `","resourceVersion":"`...)
	b = number(b, 57+p.index)
	b = append(b, `","generation":1,"creationTimestamp":"`...)
	created := moment(nil, 0, 10*3600+3*60+p.index%60)
	b = append(append(b, created...), '"')
	if p.name == "default" {
		b = append(b, `,"managedFields":[{"manager":"argocd-server","operation":"Update","apiVersion":"argoproj.io/v1alpha1","time":"`...)
		b = append(append(b, created...), `","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{".":{},"f:clusterResourceWhitelist":{},"f:description":{},"f:destinations":{},"f:sourceRepos":{}}}}]},`...)
		return append(b, `"spec":{"sourceRepos":["*"],"destinations":[{"server":"*","namespace":"*"}],"description":"Default project","clusterResourceWhitelist":[{"group":"*","kind":"*"}]},"status":{}}`...)
	}
	b = cat(b, `,"labels":{"corp.example.net/domain":"`, p.domain, `","corp.example.net/tier":"`, d.of(s.words.tiers), `"}`)
	if d.chance(450) {
		b = cat(b, `,"annotations":{"corp.example.net/owner":"`, d.of(s.words.people), `@corp.example.net","notifications.argoproj.io/subscribe.on-sync-failed.slack":"`, p.name, `-alerts"}`)
	}
	if d.chance(500) {
		b = append(b, `,"finalizers":["resources-finalizer.argocd.argoproj.io"]`...)
	}
	b = append(b, `,"managedFields":[{"manager":"argocd-server","operation":"Update","apiVersion":"argoproj.io/v1alpha1","time":"`...)
	b = append(append(b, created...), `","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:corp.example.net/domain":{},"f:corp.example.net/tier":{}}},"f:spec":{".":{},"f:description":{},"f:destinations":{},"f:roles":{},"f:sourceRepos":{}}}}]},"spec":{`...)
	b = cat(b, `"sourceRepos":["https://git.corp.example.net/`, p.domain, "/", p.name, `.git","https://git.corp.example.net/`, p.domain, `/*","oci://registry.corp.example.net/charts"],"destinations":[`)
	for i := range 1 + d.intn(10) {
		if i > 0 {
			b = append(b, ',')
		}
		space := [...]string{"*", p.domain + "-*", p.name, "!kube-system"}[d.intn(4)]
		if s.clusters > 0 && !d.chance(200) {
			b = cat(b, `{"server":"`, s.cluster(d.intn(s.clusters)).server, `","namespace":"`, space, `"}`)
		} else {
			b = cat(b, `{"namespace":"`, space, `","name":"in-cluster"}`)
		}
	}
	b = append(b, ']')
	switch k := d.intn(1000); {
	case k < 250:
	case k < 700:
		b = append(b, `,"description":"Services of `...)
		b = cat(b, p.name, ` (cost centre `)
		b = append(number(b, 1000+d.intn(4000)), `)"`...)
	default:
		b = cat(b, `,"description":"`, p.name, ` — équipe «`, p.domain, `», contact `, d.of(s.words.people), `@corp.example.net"`)
	}
	if d.chance(850) {
		b = s.writeRoles(append(b, `,"roles":`...), p.name, &d)
	}
	if d.chance(400) {
		b = append(b, `,"clusterResourceWhitelist":[{"group":"","kind":"Namespace"},{"group":"rbac.authorization.k8s.io","kind":"ClusterRole"}]`...)
	}
	if d.chance(350) {
		b = append(b, `,"namespaceResourceBlacklist":[{"group":"","kind":"ResourceQuota"},{"group":"","kind":"NetworkPolicy"}]`...)
	}
	if d.chance(250) {
		b = append(b, `,"orphanedResources":{"warn":false}`...)
	} else if d.chance(300) {
		b = append(b, `,"orphanedResources":{"warn":true,"ignore":[{"kind":"ConfigMap","name":"kube-root-ca.crt"}]}`...)
	}
	if d.chance(450) {
		b = append(b, `,"syncWindows":`...)
		b = s.writeWindows(b, p, &d)
	}
	if d.chance(160) {
		b = append(b, `,"namespaceResourceWhitelist":[{"group":"apps","kind":"Deployment"},{"group":"","kind":"Service"},{"group":"batch","kind":"*"}]`...)
	}
	if d.chance(210) {
		b = append(b, `,"clusterResourceBlacklist":[{"group":"","kind":"Node"}]`...)
	}
	if d.chance(150) {
		b = cat(b, `,"sourceNamespaces":["`, p.domain, `-apps"]`)
	}
	if d.chance(105) {
		b = append(b, `,"permitOnlyProjectScopedClusters":true`...)
	}
	if d.chance(75) {
		b = cat(b, `,"destinationServiceAccounts":[{"server":"https://kubernetes.default.svc","namespace":"`, p.domain, `-*","defaultServiceAccount":"`, p.domain, `-deployer"}]`)
	}
	b = append(b, `},"status":{`...)
	if d.chance(350) {
		b = append(b, `"jwtTokensByRole":{`...)
		for i, role := range roles()[:1+d.intn(len(roles()))] {
			if i > 0 {
				b = append(b, ',')
			}
			b = cat(b, `"`, role, `":{`)
			if d.chance(600) {
				b = append(d.token(append(b, `"items":[`...), true), ',')
				b = append(d.token(b, false), ']')
			}
			b = append(b, '}')
		}
		b = append(b, '}')
	}
	return append(b, `}}`...)
}

func roles() []string { return []string{"admin", "ci", "deployer", "read-only"} }

// token writes what is known of a token of a role; the token itself is nowhere.
func (d *dice) token(b []byte, expires bool) []byte {
	b = append(b, `{"iat":`...)
	b = number(b, 1757000000+d.intn(900000))
	if expires {
		b = append(b, `,"exp":1890000000`...)
	}
	b = append(b, `,"id":"`...)
	return append(hex(b, d.next(), 12), `"}`...)
}

func (s *Simulator) writeRoles(b []byte, name string, d *dice) []byte {
	b = append(b, '[')
	for i, role := range roles()[:1+d.intn(len(roles()))] {
		if i > 0 {
			b = append(b, ',')
		}
		b = cat(b, `{"name":"`, role, `","description":"`, role, " of ", name, `","policies":[`)
		actions := []string{"get", "sync", "update", "override", "action/*", "delete/*/Pod/*"}
		for j := range 1 + d.intn(4) {
			if j > 0 {
				b = append(b, ',')
			}
			b = cat(b, `"p, proj:`, name, ":", role, ", applications, ", actions[(i+j)%len(actions)], ", ", name, `/*, allow"`)
		}
		b = append(b, ']')
		if d.chance(250) {
			b = append(d.token(append(b, `,"jwtTokens":[`...), i%2 == 0), ']')
		}
		b = cat(b, `,"groups":["corp:`, name, ":", role, `"]}`)
	}
	return append(b, ']')
}

func (s *Simulator) writeWindows(b []byte, p project, d *dice) []byte {
	b = append(b, '[')
	for i := range 1 + d.intn(2) {
		if i > 0 {
			b = append(b, ',')
		}
		kind := [...]string{"allow", "deny"}[d.intn(2)]
		b = cat(b, `{"kind":"`, kind, `","schedule":"30 6 * * 5","duration":"72h","applications":["`, p.domain, `-*"],"namespaces":["default","*-prod"],"clusters":["prod-*"],"manualSync":true,"timeZone":"America/New_York","description":"Change freeze — see CHG-`)
		b = append(number(b, 10000+d.intn(60000)), `"}`...)
	}
	return append(b, ']')
}

// writeDetailed writes the answer of /detailed: the project, its repositories and clusters.
func (s *Simulator) writeDetailed(b, body []byte, name string) []byte {
	b = append(append(b, `{"project":`...), body...)
	n := 0
	for _, r := range s.repositories() {
		if r.project != name {
			continue
		}
		b = s.writeRepository(append(b, [2]string{`,"repositories":[`, ","}[min(n, 1)]...), r)
		n++
	}
	if n > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}
