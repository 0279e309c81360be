package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/plimsoll/plimsoll/internal/jobs/kubeapi"
	"github.com/plimsoll/plimsoll/internal/printable"
)

const kueueGroup = "kueue.x-k8s.io"

// causes finds why jobs of a namespace wait, where neither the Job nor its pod says so. What may not be read tells nothing. Each list is asked
// for once.
type causes struct {
	c         *kubeapi.Cluster
	namespace string

	events    map[string]event
	workloads map[string]condition
}

type event struct {
	Reason, Message          string
	LastTimestamp, EventTime time.Time
	Metadata                 metadata
	InvolvedObject           struct{ UID string }
}

func (e *event) at() time.Time {
	if e.LastTimestamp.IsZero() {
		return cmp.Or(e.EventTime, e.Metadata.CreationTimestamp)
	}
	return e.LastTimestamp
}

// warning returns the newest warning about an object; "" for none.
func (w *causes) warning(ctx context.Context, uid string) (reason, detail string, err error) {
	if w.events == nil {
		var list struct{ Items []event }
		err = w.c.Get(ctx, kubeapi.Path("v1", w.namespace, "events"), url.Values{"fieldSelector": {"type=Warning"}, "limit": {maxListed}}, &list)
		if err != nil && kubeapi.StatusOf(err) != http.StatusForbidden {
			return "", "", err
		}
		w.events = map[string]event{}
		for _, e := range list.Items {
			if known, ok := w.events[e.InvolvedObject.UID]; !ok || known.at().Before(e.at()) {
				w.events[e.InvolvedObject.UID] = e
			}
		}
	}
	e := w.events[uid]
	return e.Reason, e.Message, nil
}

// suspended says why a Job waits for whoever has suspended it, which is Kueue where it has a queue.
func (w *causes) suspended(ctx context.Context, uid string) (reason, detail string, err error) {
	if w.workloads == nil {
		version, err := w.c.Version(ctx, kueueGroup)
		if err != nil {
			return "", "", err
		}
		var list struct {
			Items []struct {
				Metadata metadata
				Status   struct{ Conditions []condition }
			}
		}
		if version != "" {
			err = w.c.Get(ctx, kubeapi.Path(version, w.namespace, "workloads"), url.Values{"limit": {maxListed}}, &list)
			if err != nil && kubeapi.StatusOf(err) != http.StatusForbidden {
				return "", "", err
			}
		}
		w.workloads = map[string]condition{}
		for _, l := range list.Items {
			all := l.Status.Conditions
			if c := cmp.Or(find(all, "Evicted", "True"), find(all, "QuotaReserved", "False"), find(all, "Admitted", "False")); c != nil {
				w.workloads[l.Metadata.Labels[kueueGroup+"/job-uid"]] = *c
			}
		}
	}
	if c, ok := w.workloads[uid]; ok {
		return c.Reason, c.Message, nil
	}
	return "Suspended", "whoever has suspended the Job has not resumed it", nil
}

// checkQueue refuses a queue that is not there: without Kueue the Job would start at once.
func checkQueue(ctx context.Context, c *kubeapi.Cluster, queue string) error {
	if queue == "" {
		return nil
	}
	version, err := c.Version(ctx, kueueGroup)
	if err != nil {
		return err
	}
	if version == "" {
		return fmt.Errorf("queue %q is one of Kueue, which the cluster of context %s does not have; leave the queue out", printable.Name(queue), printable.Name(c.Context))
	}
	err = c.Get(ctx, kubeapi.Path(version, c.Namespace, "localqueues", queue), nil, nil)
	switch kubeapi.StatusOf(err) {
	case http.StatusNotFound:
		return fmt.Errorf("there is no queue %q in namespace %s; kubectl get localqueues lists them", printable.Name(queue), c.Namespace)
	case http.StatusForbidden: // Kueue says it later
		return nil
	}
	return err
}
