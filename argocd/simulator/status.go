package simulator

import "strconv"

// resource is one object an application consists of.
type resource struct {
	resourceKind
	name, namespace string
	status          string
	health, message string
	hook            bool
	wave            int
	prune           bool
	at              int
}

// digits are the numbers of resources, of which there are fewer than a hundred.
const digits = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960" +
	"616263646566676869707172737475767778798081828384858687888990919293949596979899"

// each rolls the first resources one by one, sorted by group, kind and name.
func (a *application) each(kinds []resourceKind, first int, yield func(r *resource)) {
	d := a.dice(partResources)
	n := a.resources
	var r resource
	bad := n / 2 // the one that explains the application's state
	prefix := a.domain + "-" + a.component + "-"
	for i := range min(n, first) {
		k := kinds[i*len(kinds)/n]
		if n < len(kinds) {
			k = kinds[(i*len(kinds)+d.intn(len(kinds)))/n]
		}
		if i == bad && a.health != "Healthy" && !k.healthy {
			k = nearestHealthy(kinds, i*len(kinds)/n)
		}
		r = resource{resourceKind: k, at: i, status: "Synced", namespace: a.namespace}
		if k.cluster {
			r.namespace = ""
		}
		num := digits[2*i : 2*i+2]
		if d.chance(500) {
			r.name = prefix + num
		} else {
			r.name = prefix + num + [...]string{"-env", "-hpa", "-tls", "-db"}[d.intn(4)]
		}
		switch {
		case a.sync == "Unknown":
			r.status = "Unknown"
		case a.sync == "OutOfSync" && (i == bad || d.chance(150)):
			r.status = "OutOfSync"
			r.prune = d.chance(200)
		}
		if k.healthy {
			r.health = "Healthy"
			if i == bad && a.health != "Healthy" && a.health != "Unknown" {
				r.health = a.health
				switch a.health {
				case "Degraded":
					r.message = d.of(a.words.failures)
				case "Progressing":
					r.message = "Waiting for rollout to finish: " + strconv.Itoa(d.intn(3)) + " of " + strconv.Itoa(3+d.intn(6)) + " updated replicas are available..."
				}
			}
		}
		if d.chance(80) {
			r.wave = d.intn(11) - 5
		} else if d.chance(40) {
			r.hook = true
		}
		yield(&r)
	}
}

// nearestHealthy returns the first kind from a place on that has a health.
func nearestHealthy(kinds []resourceKind, from int) resourceKind {
	for _, k := range kinds[from:] {
		if k.healthy {
			return k
		}
	}
	return kinds[len(kinds)-3]
}

// writeResources writes status.resources.
func (a *application) writeResources(b []byte, kinds []resourceKind) []byte {
	b = append(b, '[')
	a.each(kinds, a.resources, func(r *resource) {
		if r.at > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		if r.group != "" {
			b = cat(b, `"group":"`, r.group, `",`)
		}
		b = cat(b, `"version":"`, r.version, `","kind":"`, r.kind, `"`)
		if r.namespace != "" {
			b = cat(b, `,"namespace":"`, r.namespace, `"`)
		}
		b = cat(b, `,"name":"`, r.name, `","status":"`, r.status, `"`)
		if r.health != "" && !a.tree {
			b = writeHealth(append(b, `,"health":`...), r.health, r.message)
		}
		if r.hook {
			b = append(b, `,"hook":true`...)
		}
		if r.prune {
			b = append(b, `,"requiresPruning":true`...)
		}
		if r.wave != 0 {
			b = number(append(b, `,"syncWave":`...), r.wave)
		}
		b = append(b, '}')
	})
	return append(b, ']')
}

func writeHealth(b []byte, status, message string) []byte {
	b = cat(b, `{"status":"`, status, `"`)
	if message != "" {
		b = cat(b, `,"message":"`, message, `"`)
	}
	return append(b, '}')
}

// writeRevision writes the revision that is deployed: a chart's version or a commit.
func (a *application) writeRevision(b []byte) []byte {
	if a.chart != "" {
		return append(b, a.target...)
	}
	d := a.dice(partRevision)
	return d.hash(b)
}

func (a *application) writeRevisions(b []byte, back int) []byte {
	d := roll(a.seed, partRevision, a.index+uint64(back+1)<<42)
	b = append(b, '[')
	for i := range a.count() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		if i == 0 && back == 0 {
			b = a.writeRevision(b)
		} else {
			b = d.hash(b)
		}
		b = append(b, '"')
	}
	return append(b, ']')
}

// writeSync writes status.sync.
func (a *application) writeSync(b []byte) []byte {
	if a.never {
		return append(b, `{"status":"","comparedTo":{"source":{"repoURL":""},"destination":{}}}`...)
	}
	b = cat(b, `{"status":"`, a.sync, `","comparedTo":{"source":`)
	if a.multi {
		b = append(b, `{"repoURL":""}`...)
	} else {
		b = a.writeSource(b)
	}
	b = a.writeDestination(append(b, `,"destination":`...))
	if a.multi {
		b = a.writeSources(append(b, `,"sources":`...))
	}
	if a.ignore {
		b = cat(b, `,"ignoreDifferences":`, ignored)
	}
	if a.multi {
		b = a.writeRevisions(append(b, `},"revisions":`...), 0)
	} else {
		b = a.writeRevision(append(b, `},"revision":"`...))
		b = append(b, '"')
	}
	return append(b, '}')
}

func (a *application) writeAppHealth(b []byte) []byte {
	if a.never {
		return append(b, `{}`...)
	}
	d := a.dice(partStatus)
	b = cat(b, `{"status":"`, a.health, `","lastTransitionTime":"`)
	return append(d.stamp(b, 1, 60), `"}`...)
}

func (a *application) writeSummary(b []byte) []byte {
	if a.never {
		return append(b, `{}`...)
	}
	d := roll(a.seed, partStatus, a.index+1<<40)
	b = append(b, '{')
	if d.chance(260) {
		b = cat(b, `"externalURLs":["https://`, a.component, ".", a.domain, ".", a.region, `.example.net/"],`)
	}
	b = append(b, `"images":[`...)
	for _, w := range a.words.infra {
		if d.chance(290) {
			b = cat(b, `"registry.corp.example.net/infra/`, w, ":", version(&d, "v", ""), `",`)
		}
	}
	return append(a.writeImage(append(b, '"')), `"]}`...)
}

func (a *application) writeConditions(b []byte) []byte {
	d := roll(a.seed, partStatus, a.index+1<<41)
	b = append(b, '[')
	for i := range a.conditions {
		if i > 0 {
			b = append(b, ',')
		}
		switch d.intn(4) {
		case 0:
			b = append(b, `{"type":"ComparisonError","message":"Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = unable to resolve revision"`...)
		case 1:
			b = append(b, `{"type":"OrphanedResourceWarning","message":"Application has `...)
			b = append(number(b, 1+d.intn(9)), ` orphaned resources"`...)
		case 2:
			b = cat(b, `{"type":"SharedResourceWarning","message":"ConfigMap/common-env is part of applications argocd/`, a.name, ` and media-web-prod"`)
		default:
			b = append(b, `{"type":"SyncError","message":"Failed last sync attempt to [`...)
			b = d.hash(b)
			b = cat(b, `]: one or more objects failed to apply, reason: Deployment.apps \"`, a.name, `\" is invalid: spec.selector: field is immutable (retried 5 times)."`)
		}
		b = append(b, `,"lastTransitionTime":"`...)
		b = append(d.stamp(b, 1, 20), `"}`...)
	}
	return append(b, ']')
}

// writeStatus writes status.
func (a *application) writeStatus(b []byte, kinds []resourceKind) []byte {
	b = append(b, '{')
	if a.resources > 0 {
		b = append(a.writeResources(append(b, `"resources":`...), kinds), ',')
	}
	b = a.writeSync(append(b, `"sync":`...))
	b = a.writeAppHealth(append(b, `,"health":`...))
	if a.never {
		return append(b, `,"summary":{},"sourceHydrator":{}}`...)
	}
	if a.history > 0 {
		b = a.writeHistory(append(b, `,"history":`...))
	}
	if a.conditions > 0 {
		b = a.writeConditions(append(b, `,"conditions":`...))
	}
	d := roll(a.seed, partStatus, a.index+1<<42)
	b = append(b, `,"reconciledAt":"`...)
	b = append(moment(b, 0, 4*3600+d.intn(3*3600)), '"')
	if a.phase != "" {
		b = a.writeOperationState(append(b, `,"operationState":`...), kinds)
	}
	if !a.multi {
		b = cat(b, `,"sourceType":"`, a.sourceType(), `"`)
	}
	b = a.writeSummary(append(b, `,"summary":`...))
	if a.tree {
		b = append(b, `,"resourceHealthSource":"appTree"`...)
	}
	if a.multi {
		b = cat(b, `,"sourceTypes":["`, a.sourceType(), `"`)
		for range a.count() - 1 {
			b = append(b, `,"Directory"`...)
		}
		b = append(b, ']')
	}
	return append(b, `,"controllerNamespace":"argocd","sourceHydrator":{}}`...)
}

func (a *application) sourceType() string {
	switch a.source {
	case helmChart, helmPath:
		return "Helm"
	case kustomize:
		return "Kustomize"
	}
	return "Directory"
}

// write writes the whole application, as it is in a list and alone.
func (a *application) write(b []byte, kinds []resourceKind) []byte {
	b = a.writeMetadata(append(b, `{"metadata":`...))
	b = a.writeSpec(append(b, `,"spec":`...))
	b = a.writeStatus(append(b, `,"status":`...), kinds)
	if a.phase == "Running" {
		b = a.writeOperation(append(b, `,"operation":`...), false)
	}
	return append(b, '}')
}
