package simulator

import (
	"slices"
	"strconv"
)

// set is what is decided about a generated application set.
type set struct {
	index                            int
	name, domain, component, project string
	failed, template                 bool
}

func (s *Simulator) set(i int) set {
	d := roll(s.seed, partSet, uint64(i))
	first, second, _, _ := s.sets.triple(i)
	p := set{index: i, name: s.sets.name(i), domain: s.sets.first[first], component: s.sets.second[second], project: "default"}
	if from, to := s.projects.span(first); to > from {
		p.project = s.projects.name(from + d.intn(to-from))
	}
	p.failed, p.template = d.chance(105), d.chance(800)
	return p
}

func (p *set) labels(into []label) []label {
	return append(into[:0], label{"app.kubernetes.io/managed-by", "bootstrap"}, label{"corp.example.net/domain", p.domain})
}

const emptyTemplate = `"template":{"metadata":{},"spec":{"destination":{},"project":""}}`

// The git generator has two forms; below a matrix it has the second.
const (
	filesOrFolders = 2
	folders        = 7
)

// writeGenerator writes one generator of a kind.
func (s *Simulator) writeGenerator(b []byte, p *set, kind int, d *dice) []byte {
	repo := "https://git.corp.example.net/" + p.domain + "/" + p.project + ".git"
	switch kind {
	case 0:
		if d.chance(400) {
			return cat(b, `{"clusters":{"selector":{"matchExpressions":[{"key":"env","operator":"In","values":["prod","dr"]}]},`, emptyTemplate, `,"values":{"revision":"main"}}}`)
		}
		return cat(b, `{"clusters":{"selector":{"matchLabels":{"env":"`, [...]string{"prod", "stg", "dev"}[d.intn(3)], `"}},`, emptyTemplate, `,"values":{"revision":"main"}}}`)
	case 1:
		b = append(b, `{"list":{"elements":[`...)
		for i := range 1 + d.intn(4) {
			if i > 0 {
				b = append(b, ',')
			}
			c := cluster{name: "in-cluster", server: "https://kubernetes.default.svc"}
			if s.clusters > 0 {
				c = s.cluster(d.intn(s.clusters))
			}
			b = cat(b, `{"cluster":"`, c.name, `","env":"`, d.of(s.apps.third), `","replicas":`)
			if d.chance(350) {
				b = append(number(append(b, '"'), 1+d.intn(9)), '"')
			} else {
				b = number(b, 1+d.intn(9))
			}
			b = cat(b, `,"url":"`, c.server, `"}`)
		}
		return cat(b, `],`, emptyTemplate, `}}`)
	case filesOrFolders:
		if d.chance(350) {
			return cat(b, `{"git":{"repoURL":"https://git.corp.example.net/`, p.domain, `/config.git","files":[{"path":"envs/**/config.json"}],"revision":"main",`, emptyTemplate, `}}`)
		}
		fallthrough
	case folders:
		return cat(b, `{"git":{"repoURL":"`, repo, `","directories":[{"path":"apps/*"},{"path":"apps/legacy-*","exclude":true}],"revision":"HEAD","requeueAfterSeconds":180,`, emptyTemplate, `}}`)
	case 3:
		return cat(b, `{"scmProvider":{"filters":[{"repositoryMatch":"^`, p.domain, `-","pathsExist":["deploy"]}],"cloneProtocol":"https","gitlab":{"group":"`, p.domain, `","includeSubgroups":true,"api":"https://git.corp.example.net/","tokenRef":{"secretName":"scm-token","key":"token"}},`, emptyTemplate, `}}`)
	case 4:
		return cat(b, `{"pullRequest":{"github":{"owner":"`, p.domain, `","repo":"`, p.project, `","api":"https://git.corp.example.net/api/v3/","tokenRef":{"secretName":"scm-token","key":"token"},"labels":["preview"]},"requeueAfterSeconds":600,`, emptyTemplate, `}}`)
	case 5:
		b = append(b, `{"matrix":{"generators":[`...)
	default:
		b = append(b, `{"merge":{"mergeKeys":["server"],"generators":[`...)
	}
	if kind > 5 {
		b = append(s.writeGenerator(b, p, 1, d), ',')
		return cat(b, `{"list":{"elements":[{"canary":"true","cluster":"in-cluster"}],`, emptyTemplate, `}}],`, emptyTemplate, `}}`)
	}
	b = append(s.writeGenerator(b, p, folders, d), ',')
	return cat(s.writeGenerator(b, p, 0, d), `],`, emptyTemplate, `}}`)
}

// setApplications are the applications that the set's status names.
func (s *Simulator) setApplications(p *set) []int {
	d := roll(s.seed, partSet, uint64(p.index)+1<<40)
	if s.apps.n == 0 || !d.chance(750) {
		return nil
	}
	var all []int
	for range 1 + d.intn(6) {
		all = append(all, d.intn(s.apps.n))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (s *Simulator) writeSet(b []byte, p *set) []byte {
	d := roll(s.seed, partSet, uint64(p.index)+1<<41)
	b = cat(b, `{"metadata":{"name":"`, p.name, `","namespace":"argocd","uid":"`)
	b = append(d.uid(b), `","resourceVersion":"`...)
	b = append(number(b, 480+p.index), `","generation":1,"creationTimestamp":"`...)
	created := moment(nil, 0, 10*3600+3*60+p.index%60)
	b = append(append(b, created...), `","labels":`...)
	var kept [2]label
	b = writeLabels(b, p.labels(kept[:]))
	if d.chance(390) {
		b = append(b, `,"annotations":{"corp.example.net/runbook":"https://wiki.corp.example.net/x/`...)
		b = append(number(b, 10000+d.intn(90000)), `"}`...)
	}
	b = append(b, `,"managedFields":[{"manager":"argocd-server","operation":"Update","apiVersion":"argoproj.io/v1alpha1","time":"`...)
	b = append(append(b, created...), `","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:app.kubernetes.io/managed-by":{},"f:corp.example.net/domain":{}}},`+
		`"f:spec":{".":{},"f:generators":{},"f:goTemplate":{},"f:goTemplateOptions":{},"f:syncPolicy":{},"f:template":{".":{},"f:metadata":{".":{},"f:labels":{},"f:name":{}},"f:spec":{".":{},"f:destination":{},"f:project":{},"f:source":{},"f:syncPolicy":{}}}}}},{"manager":"argocd-applicationset-controller","operation":"Update","apiVersion":"argoproj.io/v1alpha1","time":"`...)
	b = append(append(b, created...), `","fieldsType":"FieldsV1","fieldsV1":{"f:status":{".":{},"f:conditions":{},"f:health":{}}},"subresource":"status"}]},"spec":{`...)
	open, closed := "{{", "}}"
	if p.template {
		open, closed = "{{ .", " }}"
		b = append(b, `"goTemplate":true,`...)
	}
	kind := d.intn(7)
	b = s.writeGenerator(append(b, `"generators":[`...), p, kind, &d)
	if d.chance(100) {
		b = s.writeGenerator(append(b, ','), p, 1, &d)
	}
	short := p.name[:min(len(p.name), 20)]
	b = cat(b, `],"template":{"metadata":{"name":"`, short, "-", open, "name", closed, `","labels":{"corp.example.net/appset":"`, p.name, `","env":"`, open, "env", closed, `"}`)
	if d.chance(450) {
		b = append(b, `,"finalizers":["resources-finalizer.argocd.argoproj.io"]`...)
	}
	b = cat(b, `},"spec":{"source":{"repoURL":"https://git.corp.example.net/`, p.domain, "/", p.project, `.git","path":"deploy/overlays/`, open, "env", closed, `","targetRevision":"main"`)
	if d.chance(300) {
		b = cat(b, `,"helm":{"valueFiles":["values.yaml","values-`, open, "env", closed, `.yaml"],"ignoreMissingValueFiles":true}`)
	}
	b = cat(b, `},"destination":{"server":"`, open, "url", closed, `","namespace":"`, p.domain, "-", open, "env", closed, `"},"project":"`, p.project,
		`","syncPolicy":{"automated":{"prune":true,"selfHeal":`, strconv.FormatBool(d.chance(500)), `},"syncOptions":["CreateNamespace=true"]}}},"syncPolicy":{`)
	if d.chance(300) {
		b = append(b, `"preserveResourcesOnDeletion":true`...)
	}
	b = append(b, '}')
	rolling := d.chance(120)
	if rolling {
		b = append(b, `,"strategy":{"type":"RollingSync","rollingSync":{"steps":[{"matchExpressions":[{"key":"env","operator":"In","values":["dev"]}]},{"matchExpressions":[{"key":"env","operator":"In","values":["stg"]}],"maxUpdate":"50%"},{"matchExpressions":[{"key":"env","operator":"In","values":["prod"]}],"maxUpdate":1}]}}`...)
	}
	if d.chance(100) {
		b = append(b, `,"preservedFields":{"annotations":["my-custom-annotation"],"labels":["my-custom-label"]}`...)
	}
	if p.template {
		b = append(b, `,"goTemplateOptions":["missingkey=error"]`...)
	}
	if d.chance(150) {
		b = cat(b, `,"ignoreApplicationDifferences":[{"jsonPointers":["/spec/source/targetRevision"]},{"name":"`, p.name, `-canary","jqPathExpressions":[".spec.source.helm.values"]}]`)
	}
	if p.template && d.chance(85) {
		b = append(b, `,"templatePatch":"spec:\n  source:\n    helm:\n      valueFiles:\n      {{- range $v := .valueFiles }}\n        - {{ $v }}\n      {{- end }}\n"`...)
	}
	return s.writeSetStatus(append(b, `},"status":{`...), p, &d, rolling)
}

func (s *Simulator) writeSetStatus(b []byte, p *set, d *dice, rolling bool) []byte {
	const generated = "Successfully generated parameters for all Applications"
	const done = "All applications have been generated successfully"
	first, status, reason, health := generated, [...]string{"False", "True", "True"}, [...]string{"ApplicationSetUpToDate", "ParametersGenerated", "ApplicationSetUpToDate"}, "Healthy"
	message := done
	if p.failed {
		first = "error generating params from git: error getting directories from repo: rpc error: code = Unknown desc = unable to resolve git revision HEAD"
		status = [...]string{"True", "False", "False"}
		reason = [...]string{"ApplicationGenerationFromParamsError", "ErrorOccurred", "ApplicationGenerationFromParamsError"}
		health, message = "Degraded", "error generating params"
	}
	b = append(b, `"conditions":[`...)
	for i, kind := range [...]string{"ErrorOccurred", "ParametersGenerated", "ResourcesUpToDate"} {
		if i > 0 {
			b = append(b, ',')
		}
		b = cat(b, `{"type":"`, kind, `","message":"`, [...]string{first, generated, done}[i], `","lastTransitionTime":"`)
		b = cat(d.stamp(b, 5, 90), `","status":"`, status[i], `","reason":"`, reason[i], `"}`)
	}
	b = append(b, ']')
	if apps := s.setApplications(p); len(apps) > 0 {
		var a application
		if rolling {
			b = append(b, `,"applicationStatus":[`...)
			for i, at := range apps {
				if i > 0 {
					b = append(b, ',')
				}
				s.application(at, &a)
				b = cat(b, `{"application":"`, a.name, `","lastTransitionTime":"`)
				b = append(d.stamp(b, 1, 30), `","message":"Application resource became Healthy, updating status from Progressing to Healthy.","status":"Healthy","step":"`...)
				b = append(number(b, 1+d.intn(3)), `","targetRevisions":["`...)
				b = append(d.hash(b), `"]}`...)
			}
			b = append(b, ']')
		}
		b = append(b, `,"resources":[`...)
		for i, at := range apps {
			if i > 0 {
				b = append(b, ',')
			}
			s.application(at, &a)
			b = cat(b, `{"group":"argoproj.io","version":"v1alpha1","kind":"Application","namespace":"argocd","name":"`, a.name, `","status":"`, a.sync, `","health":`)
			b = append(a.writeAppHealth(b), '}')
		}
		b = number(append(b, `],"resourcesCount":`...), len(apps))
	}
	b = cat(b, `,"health":{"status":"`, health, `","message":"`, message, `","lastTransitionTime":"`)
	return append(d.stamp(b, 5, 90), `"}}}`...)
}
