package simulator

import "strings"

// writeHistory writes status.history, the newest last.
func (a *application) writeHistory(b []byte) []byte {
	d := a.dice(partHistory)
	first := 1 + d.intn(240)
	b = append(b, '[')
	for i := range a.history {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		back := a.history - 1 - i
		if !a.multi {
			b = append(b, `"revision":"`...)
			if a.chart != "" {
				b = append(b, version(&d, "", "")...)
			} else {
				b = d.hash(b)
			}
			b = append(b, `",`...)
		}
		day, second := 100-(i*9)-d.intn(8), d.intn(86000)
		b = append(b, `"deployedAt":"`...)
		b = append(moment(b, day, second+30), `","id":`...)
		b = append(number(b, first+i), `,"source":`...)
		if a.multi {
			b = append(b, `{"repoURL":""}`...)
		} else {
			b = a.writeSource(b)
		}
		b = append(b, `,"deployStartedAt":"`...)
		b = append(moment(b, day, second), '"')
		if a.multi {
			b = a.writeSources(append(b, `,"sources":`...))
			b = a.writeRevisions(append(b, `,"revisions":`...), back+1)
		}
		if d.chance(500) {
			b = append(b, `,"initiatedBy":{"automated":true}}`...)
		} else {
			b = cat(b, `,"initiatedBy":{"username":"`, d.of(a.words.people), `"}}`)
		}
	}
	return append(b, ']')
}

// writeOperation writes an operation: the one that runs, or whole the one of the state.
func (a *application) writeOperation(b []byte, whole bool) []byte {
	d := a.dice(partOperation)
	b = append(b, `{"sync":{`...)
	if a.multi {
		b = a.writeRevisions(append(b, `"revisions":`...), 0)
	} else {
		b = append(a.writeRevision(append(b, `"revision":"`...)), '"')
	}
	if whole && a.prune {
		b = append(b, `,"prune":true`...)
	}
	if whole && a.options > 0 {
		b = a.writeOptions(append(b, `,"syncOptions":`...))
	}
	if a.automated {
		return append(b, `},"initiatedBy":{"automated":true},"retry":{"limit":5}}`...)
	}
	return cat(b, `},"initiatedBy":{"username":"`, d.of(a.words.people), `"},"retry":{}}`)
}

// writeOperationState writes status.operationState: the last operation and what became of it.
func (a *application) writeOperationState(b []byte, kinds []resourceKind) []byte {
	d := roll(a.seed, partOperation, a.index+1<<40)
	b = a.writeOperation(append(b, `{"operation":`...), true)
	b = cat(b, `,"phase":"`, a.phase, `","message":"`)
	switch a.phase {
	case "Succeeded":
		b = append(b, `successfully synced (all tasks run)`...)
	case "Running":
		b = cat(b, `waiting for completion of hook batch/Job/`, a.component, `-migrate`)
	case "Error":
		b = append(b, `rpc error: code = DeadlineExceeded desc = context deadline exceeded`...)
	default:
		b = append(b, `one or more objects failed to apply, reason: error validating data: ValidationError(Deployment.spec): unknown field \"replica\" in io.k8s.api.apps.v1.DeploymentSpec (retried 2 times).`...)
	}
	b = a.writeSyncResult(append(b, `","syncResult":`...), kinds)
	day, second := d.intn(60), d.intn(86000)
	b = append(b, `,"startedAt":"`...)
	b = append(moment(b, day, second), '"')
	if a.phase != "Running" {
		b = append(b, `,"finishedAt":"`...)
		b = append(moment(b, day, second+5+d.intn(90)), '"')
	}
	if a.phase == "Failed" {
		b = append(b, `,"retryCount":2`...)
	}
	return append(b, '}')
}

func (a *application) writeSyncResult(b []byte, kinds []resourceKind) []byte {
	b = append(b, `{"resources":[`...)
	a.each(kinds, 6, func(r *resource) {
		if r.at > 0 {
			b = append(b, ',')
		}
		b = cat(b, `{"group":"`, r.group, `","version":"`, r.version, `","kind":"`, r.kind, `","namespace":"`, a.namespace, `","name":"`, r.name, `"`)
		if r.at == 0 && a.phase == "Failed" {
			b = cat(b, `,"status":"SyncFailed","message":"`, r.kind, ` \"`, r.name, `\" is invalid: spec.template.spec.containers[0].image: Required value","hookPhase":"Failed","syncPhase":"Sync"}`)
			return
		}
		b = cat(b, `,"status":"Synced","message":"`, strings.ToLower(r.kind))
		if r.group != "" {
			b = cat(b, ".", r.group)
		}
		b = cat(b, "/", r.name, [...]string{" unchanged", " configured", " serverside-applied", " created"}[(r.at+len(a.name))%4], `","hookPhase":"Running","syncPhase":"Sync"`)
		if r.pods {
			b = append(a.writeImage(append(b, `,"images":["`...)), `"]`...)
		}
		b = append(b, '}')
	})
	b = append(b, ']')
	if a.multi {
		b = a.writeRevisions(append(b, `,"revision":"","source":{"repoURL":""},"revisions":`...), 0)
		b = a.writeSources(append(b, `,"sources":`...))
	} else {
		b = append(a.writeRevision(append(b, `,"revision":"`...)), '"')
		b = a.writeSource(append(b, `,"source":`...))
	}
	return append(b, '}')
}
