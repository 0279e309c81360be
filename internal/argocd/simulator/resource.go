package simulator

import (
	"slices"
	"strconv"
	"strings"
)

// resource is one object an application consists of, and what a sync made of it.
type resource struct {
	group, apiVersion, kind string
	name, namespace, status string
	health, message         string
	hook, pruned, pods      bool
	wave                    int

	lower, outcome string
	refused        bool
}

// deployment is an entry of the history.
type deployment struct {
	revision, deployed, started, by string
	revisions                       []string
	id                              int
}

// fillDetails sets the parts of the application that no filter or count needs: resources, history, the last operation.
func (a *application) fillDetails() {
	if a.never {
		return
	}
	a.rollResources()
	a.rollHistory()
	d := newDice(a.sim.seed, partStatus, a.index+1<<42)
	a.reconciled = stamped(0, 4*3600+d.intn(3*3600))
	if a.phase != "" {
		a.rollOperation()
	}
}

// rollResources rolls the resources, sorted by group, kind and name.
func (a *application) rollResources() {
	kinds := a.sim.words.Kinds
	d := newDice(a.sim.seed, partResources, a.index)
	bad := a.count / 2 // the one that explains the application's state
	for i := range a.count {
		k := kinds[i*len(kinds)/a.count]
		if a.count < len(kinds) {
			k = kinds[(i*len(kinds)+d.intn(len(kinds)))/a.count]
		}
		if i == bad && a.health != "Healthy" && !k.Healthy {
			k = kinds[len(kinds)-3] // has a health
			if at := slices.IndexFunc(kinds[i*len(kinds)/a.count:], func(k resourceKind) bool { return k.Healthy }); at >= 0 {
				k = kinds[i*len(kinds)/a.count+at]
			}
		}
		r := resource{group: k.Group, apiVersion: k.Version, kind: k.Kind, pods: k.Pods, status: "Synced", namespace: a.into}
		if k.Cluster {
			r.namespace = ""
		}
		r.name = a.domain + "-" + a.component + "-" + strconv.Itoa(i/10) + strconv.Itoa(i%10)
		if !d.chance(500) {
			r.name += [...]string{"-env", "-hpa", "-tls", "-db"}[d.intn(4)]
		}
		switch {
		case a.sync == "Unknown":
			r.status = "Unknown"
		case a.sync == "OutOfSync" && (i == bad || d.chance(150)):
			r.status = "OutOfSync"
			r.pruned = d.chance(200)
		}
		if k.Healthy {
			r.health = "Healthy"
			if i == bad && a.health != "Healthy" && a.health != "Unknown" {
				r.health = a.health
				switch a.health {
				case "Degraded":
					r.message = d.of(a.sim.words.Failures)
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
		a.resources = append(a.resources, r)
	}
}

// rollHistory rolls the deployments, the newest last.
func (a *application) rollHistory() {
	d := newDice(a.sim.seed, partHistory, a.index)
	first := 1 + d.intn(240)
	for i := range a.deployed {
		h := deployment{id: first + i}
		switch {
		case a.multi:
			e := newDice(a.sim.seed, partRevision, a.index+uint64(a.deployed-i+1)<<42)
			h.revisions = []string{e.commit(), e.commit()}
			if a.third {
				h.revisions = append(h.revisions, e.commit())
			}
		case a.chart != "":
			h.revision = version(&d, "", "")
		default:
			h.revision = d.commit()
		}
		day, second := 100-(i*9)-d.intn(8), d.intn(86000)
		h.deployed, h.started = stamped(day, second+30), stamped(day, second)
		if !d.chance(500) {
			h.by = d.of(a.sim.words.People)
		}
		a.history = append(a.history, h)
	}
}

// rollOperation rolls the last operation and what became of it.
func (a *application) rollOperation() {
	d := newDice(a.sim.seed, partOperation, a.index+1<<40)
	day, second := d.intn(60), d.intn(86000)
	a.started = stamped(day, second)
	if !a.running {
		a.finished = stamped(day, second+5+d.intn(90))
	}
	a.results = a.resources[:min(len(a.resources), 6)]
	for i := range a.results {
		r := &a.results[i]
		r.refused, r.lower = i == 0 && a.failed, strings.ToLower(r.kind)
		r.outcome = [...]string{"unchanged", "configured", "serverside-applied", "created"}[(i+len(a.name))%4]
	}
}
