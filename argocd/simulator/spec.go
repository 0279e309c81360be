package simulator

import "strconv"

// This file writes the parts of an application, each with dice of its own, so that a part
// nobody asked for costs nothing.

func (a *application) dice(p part) dice { return roll(a.seed, p, a.index) }

func (a *application) created(b []byte) []byte {
	return moment(b, 0, 10*3600+3*60+int(a.index%60))
}

func (a *application) writeLabels(b []byte) []byte {
	var kept [5]label
	return writeLabels(b, a.labels(kept[:]))
}

func writeLabels(b []byte, labels []label) []byte {
	b = append(b, '{')
	for i, l := range labels {
		if i > 0 {
			b = append(b, ',')
		}
		b = cat(b, `"`, l.key, `":"`, l.value, `"`)
	}
	return append(b, '}')
}

func (a *application) annotated() bool {
	return a.alerts || a.generate || a.ownerMail || a.external || a.updater || a.applied || a.refresh
}

func (a *application) writeAnnotations(b []byte) []byte {
	d := a.dice(partMeta)
	start := len(b)
	add := func(key, value string) {
		b = cat(b, `,"`, key, `":"`, value, `"`)
	}
	if a.updater {
		add("argocd-image-updater.argoproj.io/app.update-strategy", "semver")
		add("argocd-image-updater.argoproj.io/image-list", "app=registry.corp.example.net/"+a.domain+"/"+a.component)
	}
	if a.generate {
		add("argocd.argoproj.io/manifest-generate-paths", ".;/charts/common")
	}
	if a.refresh {
		add("argocd.argoproj.io/refresh", "hard")
	}
	if a.ownerMail {
		add("corp.example.net/owner", d.of(a.words.people))
	}
	if a.applied {
		b = cat(b, `,"kubectl.kubernetes.io/last-applied-configuration":"`,
			`{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{\"annotations\":{},\"name\":\"`, a.name,
			`\",\"namespace\":\"argocd\"},\"spec\":{\"destination\":{\"namespace\":\"`, a.namespace,
			`\",\"server\":\"https://kubernetes.default.svc\"},\"project\":\"`, a.project,
			`\",\"source\":{\"path\":\".\",\"repoURL\":\"`, a.repo, `\",\"targetRevision\":\"HEAD\"}}}\n"`)
	}
	if a.external {
		add("link.argocd.argoproj.io/external-link", "https://grafana.corp.example.net/d/"+a.name)
	}
	if a.alerts {
		add("notifications.argoproj.io/subscribe.on-sync-failed.slack", a.domain+"-alerts")
	}
	if len(b) == start {
		return append(b, "{}"...)
	}
	b[start] = '{'
	return append(b, '}')
}

func (a *application) writeUID(b []byte) []byte {
	d := roll(a.seed, partMeta, a.index+1<<40)
	return d.uid(b)
}

// writeMetadata writes metadata with managedFields.
func (a *application) writeMetadata(b []byte) []byte {
	d := a.dice(partMeta)
	b = cat(b, `{"name":"`, a.name, `","namespace":"argocd","uid":"`)
	b = a.writeUID(b)
	b = append(b, `","resourceVersion":"`...)
	b = number(b, 1000+d.intn(1500))
	b = append(b, `","generation":`...)
	generation := 2
	if a.never {
		generation = 1
	} else if a.deleting {
		generation = 3
	}
	b = number(b, generation)
	b = append(b, `,"creationTimestamp":"`...)
	b = append(a.created(b), '"')
	if a.deleting {
		b = append(b, `,"deletionTimestamp":"`...)
		b = append(a.created(b), `","deletionGracePeriodSeconds":0`...)
	}
	if a.labelled || a.instance || a.tier != "" {
		b = a.writeLabels(append(b, `,"labels":`...))
	}
	if a.annotated() {
		b = a.writeAnnotations(append(b, `,"annotations":`...))
	}
	if a.owner != "" {
		b = cat(b, `,"ownerReferences":[{"apiVersion":"argoproj.io/v1alpha1","kind":"ApplicationSet","name":"`, a.owner, `","uid":"`)
		b = append(d.uid(b), `","controller":true,"blockOwnerDeletion":true}]`...)
	}
	if a.finalizer != "" || a.deleting {
		b = cat(b, `,"finalizers":["`, a.finalizer, `"]`)
	}
	b = a.writeManaged(append(b, `,"managedFields":`...))
	return append(b, '}')
}

func (a *application) writeDestination(b []byte) []byte {
	if a.cluster != "" {
		return cat(b, `{"namespace":"`, a.namespace, `","name":"`, a.cluster, `"}`)
	}
	return cat(b, `{"server":"`, a.server, `","namespace":"`, a.namespace, `"}`)
}

// writeSource writes the first source.
func (a *application) writeSource(b []byte) []byte {
	d := a.dice(partSpec)
	b = cat(b, `{"repoURL":"`, a.repo, `"`)
	if a.chart == "" {
		b = cat(b, `,"path":"`, a.path, `"`)
	}
	b = cat(b, `,"targetRevision":"`, a.target, `"`)
	switch a.source {
	case helmPath, helmChart:
		b = cat(b, `,"helm":{"valueFiles":["values.yaml","values-`, a.env, `.yaml"]`)
		if a.parameters {
			b = append(b, `,"parameters":[{"name":"image.tag","value":"`...)
			b = cat(b, version(&d, "v", ""), `","forceString":true},{"name":"replicaCount","value":"`)
			b = number(b, 1+d.intn(8))
			b = cat(b, `"},{"name":"global.environment","value":"`, a.env, `"}]`)
		}
		if a.release {
			b = cat(b, `,"releaseName":"`, a.component, `"`)
		}
		if a.values {
			b = append(b, `,"values":"replicaCount: `...)
			b = number(b, 1+d.intn(8))
			b = append(b, `\nresources:\n  requests:\n    cpu: `...)
			b = number(b, 250*(1+d.intn(6)))
			b = append(b, `m\n    memory: `...)
			b = number(b, 64*(1+d.intn(20)))
			b = cat(b, `Mi\ningress:\n  enabled: true\n  hosts:\n  - `, a.component, ".", a.domain, `.example.net\n"`)
		}
		if a.object {
			b = append(b, `,"valuesObject":{"autoscaling":{"enabled":true,"max":`...)
			b = number(b, 10+d.intn(30))
			b = append(b, `,"min":2},"podAnnotations":{"prometheus.io/scrape":"true"},"replicaCount":`...)
			b = number(b, 1+d.intn(8))
			b = cat(b, `,"tolerations":[{"effect":"NoSchedule","key":"dedicated","operator":"Equal","value":"`, a.domain, `"}]}`)
		}
		b = append(b, '}')
	case kustomize:
		b = cat(b, `,"kustomize":{"images":["`)
		b = a.writeImage(b)
		b = cat(b, `"],"commonLabels":{"team":"`, a.team, `"}`)
		if d.chance(190) {
			b = cat(b, `,"replicas":[{"name":"`, a.component, `","count":`)
			b = append(number(b, 1+d.intn(8)), `}]`...)
		}
		b = append(b, '}')
	case directory:
		b = append(b, `,"directory":{"recurse":true,"exclude":"{*.test.yaml,ci/*}"}`...)
	}
	if a.chart != "" {
		b = cat(b, `,"chart":"`, a.chart, `"`)
	}
	return append(b, '}')
}

// writeImage writes the application's own image.
func (a *application) writeImage(b []byte) []byte {
	d := roll(a.seed, partMeta, a.index+1<<41)
	return cat(b, "registry.corp.example.net/", a.domain, "/", a.component, ":", version(&d, "v", ""))
}

func (a *application) writeSources(b []byte) []byte {
	b = a.writeSource(append(b, '['))
	b = cat(b, `,{"repoURL":"https://git.corp.example.net/`, a.domain, `/config.git","targetRevision":"main","ref":"values"}`)
	if a.third {
		b = cat(b, `,{"repoURL":"`, dashboards, `","path":"grafana/`, a.domain, `","targetRevision":"HEAD"}`)
	}
	return append(b, ']')
}

// count returns how many sources there are.
func (a *application) count() int {
	switch {
	case !a.multi:
		return 1
	case a.third:
		return 3
	}
	return 2
}

func (a *application) writeOptions(b []byte) []byte {
	b = append(b, '[')
	at := int(a.index*7) % len(a.words.options)
	for i := range a.options {
		if i > 0 {
			b = append(b, ',')
		}
		b = cat(b, `"`, a.words.options[(at+i*5)%len(a.words.options)], `"`)
	}
	return append(b, ']')
}

func (a *application) writePolicy(b []byte) []byte {
	b = append(b, '{')
	if a.automated {
		b = append(b, `"automated":{`...)
		if a.prune {
			b = append(b, `"prune":true`...)
		}
		if a.selfHeal {
			if a.prune {
				b = append(b, ',')
			}
			b = append(b, `"selfHeal":true`...)
		}
		if a.disabled {
			if a.prune || a.selfHeal {
				b = append(b, ',')
			}
			b = append(b, `"enabled":false`...)
		}
		b = append(b, `},`...)
	}
	b = a.writeOptions(append(b, `"syncOptions":`...))
	if a.retry {
		b = append(b, `,"retry":{"limit":5,"backoff":{"duration":"5s","factor":2,"maxDuration":"3m0s"}}`...)
	}
	return append(b, '}')
}

const ignored = `[{"group":"apps","kind":"Deployment","jsonPointers":["/spec/replicas"]},` +
	`{"group":"admissionregistration.k8s.io","kind":"MutatingWebhookConfiguration","jqPathExpressions":[".webhooks[]?.clientConfig.caBundle"]}]`

func (a *application) writeSpec(b []byte) []byte {
	d := a.dice(partSpec)
	b = append(b, '{')
	if !a.multi {
		b = append(a.writeSource(append(b, `"source":`...)), ',')
	}
	b = a.writeDestination(append(b, `"destination":`...))
	b = cat(b, `,"project":"`, a.project, `"`)
	if a.options > 0 {
		b = a.writePolicy(append(b, `,"syncPolicy":`...))
	}
	if a.ignore {
		b = cat(b, `,"ignoreDifferences":`, ignored)
	}
	if a.info {
		b = cat(b, `,"info":[{"name":"runbook","value":"https://wiki.corp.example.net/runbooks/`, a.name,
			`"},{"name":"owner","value":"`, d.of(a.words.people), `"}]`)
	}
	if a.limit {
		b = append(b, `,"revisionHistoryLimit":`...)
		b = strconv.AppendInt(b, int64(d.intn(3)*10), 10)
	}
	if a.multi {
		b = a.writeSources(append(b, `,"sources":`...))
	}
	return append(b, '}')
}
