package simulator

// writeManaged writes metadata.managedFields: who set which field, a fifth of an object.
func (a *application) writeManaged(b []byte) []byte {
	b = append(b, '[')
	if !a.never {
		b = append(b, `{"manager":"argocd-application-controller","operation":"Update","apiVersion":"argoproj.io/v1alpha1","time":"`...)
		b = append(a.created(b), `","fieldsType":"FieldsV1","fieldsV1":{"f:status":{".":{}`...)
		if a.conditions > 0 {
			b = append(b, `,"f:conditions":{}`...)
		}
		b = append(b, `,"f:controllerNamespace":{},"f:health":{".":{},"f:lastTransitionTime":{},"f:status":{}}`...)
		if a.history > 0 {
			b = append(b, `,"f:history":{}`...)
		}
		if a.phase != "" {
			b = append(b, `,"f:operationState":{".":{},"f:finishedAt":{},"f:message":{},"f:operation":{".":{},"f:initiatedBy":{".":{},"f:automated":{}},`+
				`"f:retry":{".":{},"f:limit":{}},"f:sync":{".":{},"f:prune":{},"f:revision":{},"f:syncOptions":{}}},"f:phase":{},"f:retryCount":{},`+
				`"f:startedAt":{},"f:syncResult":{".":{},"f:resources":{},"f:revision":{},"f:source":`...)
			b = append(a.managedSource(b), `}}`...)
		}
		b = append(b, `,"f:reconciledAt":{}`...)
		if a.tree {
			b = append(b, `,"f:resourceHealthSource":{}`...)
		}
		b = append(b, `,"f:resources":{},"f:sourceType":{},"f:summary":{".":{},"f:images":{}},"f:sync":{".":{},"f:comparedTo":{".":{},"f:destination":`...)
		b = a.managedSource(append(a.managedDestination(b), `,"f:source":`...))
		b = append(b, `},"f:revision":{},"f:status":{}}}}},`...)
	}
	manager := "argocd-server"
	if a.owner != "" {
		manager = "argocd-applicationset-controller"
	}
	b = cat(b, `{"manager":"`, manager, `","operation":"Update","apiVersion":"argoproj.io/v1alpha1","time":"`)
	b = append(a.created(b), `","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{".":{}`...)
	var kept [5]label
	for _, l := range a.labels(kept[:]) {
		b = cat(b, `,"f:`, l.key, `":{}`)
	}
	b = append(b, '}')
	if a.annotated() {
		b = append(b, `,"f:annotations":{".":{}`...)
		for _, n := range []struct {
			key string
			has bool
		}{
			{"argocd-image-updater.argoproj.io/image-list", a.updater},
			{"argocd.argoproj.io/manifest-generate-paths", a.generate},
			{"corp.example.net/owner", a.ownerMail},
			{"kubectl.kubernetes.io/last-applied-configuration", a.applied},
			{"link.argocd.argoproj.io/external-link", a.external},
			{"notifications.argoproj.io/subscribe.on-sync-failed.slack", a.alerts},
		} {
			if n.has {
				b = cat(b, `,"f:`, n.key, `":{}`)
			}
		}
		b = append(b, '}')
	}
	if a.owner != "" {
		b = append(b, `,"f:ownerReferences":{".":{},"k:{\"uid\":\"`...)
		d := a.dice(partMeta)
		b = append(d.uid(b), `\"}":{}}`...)
	}
	if a.finalizer != "" {
		b = cat(b, `,"f:finalizers":{".":{},"v:\"`, a.finalizer, `\"":{}}`)
	}
	b = a.managedDestination(append(b, `},"f:spec":{".":{},"f:destination":`...))
	b = append(b, `,"f:project":{}`...)
	if a.multi {
		b = append(b, `,"f:sources":{}`...)
	} else {
		b = a.managedSource(append(b, `,"f:source":`...))
	}
	if a.options > 0 {
		b = append(b, `,"f:syncPolicy":{".":{},"f:automated":{".":{},"f:prune":{},"f:selfHeal":{}}`...)
		if a.retry {
			b = append(b, `,"f:retry":{".":{},"f:backoff":{".":{},"f:duration":{},"f:factor":{},"f:maxDuration":{}},"f:limit":{}}`...)
		}
		b = append(b, `,"f:syncOptions":{}}`...)
	}
	return append(b, `}}}]`...)
}

func (a *application) managedDestination(b []byte) []byte {
	if a.cluster != "" {
		return append(b, `{".":{},"f:name":{},"f:namespace":{}}`...)
	}
	return append(b, `{".":{},"f:namespace":{},"f:server":{}}`...)
}

func (a *application) managedSource(b []byte) []byte {
	b = append(b, `{".":{}`...)
	switch a.source {
	case helmChart:
		b = append(b, `,"f:chart":{},"f:helm":{".":{},"f:valueFiles":{}}`...)
	case helmPath:
		b = append(b, `,"f:helm":{".":{},"f:valueFiles":{}}`...)
	case kustomize:
		b = append(b, `,"f:kustomize":{".":{},"f:commonLabels":{".":{},"f:team":{}},"f:images":{}}`...)
	case directory:
		b = append(b, `,"f:directory":{".":{},"f:exclude":{},"f:recurse":{}}`...)
	}
	if a.chart == "" {
		b = append(b, `,"f:path":{}`...)
	}
	return append(b, `,"f:repoURL":{},"f:targetRevision":{}}`...)
}
