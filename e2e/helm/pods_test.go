package helm_test

import (
	"fmt"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// podOf is the pod that an object makes, nil for none.
func podOf(o runtime.Object) *core.PodTemplateSpec {
	switch o := o.(type) {
	case *core.Pod:
		return &core.PodTemplateSpec{ObjectMeta: o.ObjectMeta, Spec: o.Spec}
	case *apps.StatefulSet:
		return &o.Spec.Template
	case *apps.Deployment:
		return &o.Spec.Template
	case *batch.Job:
		return &o.Spec.Template
	case *batch.CronJob:
		return &o.Spec.JobTemplate.Spec.Template
	}
	return nil
}

// Every pod passes the strictest profile of Pod Security, and has what that does not ask for: a root file system that cannot be
// written, requests and limits of memory, and no token of the API server.
func TestPodsAreRestricted(t *testing.T) {
	checks, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	pods := 0
	for _, name := range exampleNames(t) {
		found, _ := objects(t, try(t, name, needed[name]))
		for id, object := range found {
			pod := podOf(object)
			if pod == nil {
				continue
			}
			pods++
			for _, r := range checks.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec) {
				if !r.Allowed {
					t.Errorf("%s: %s: %s %s", name, id, r.ForbiddenReason, r.ForbiddenDetail)
				}
			}
			if a := pod.Spec.AutomountServiceAccountToken; a == nil || *a {
				t.Errorf("%s: %s has a token of the API server", name, id)
			}
			mounts := map[string]bool{}
			for _, v := range pod.Spec.Volumes {
				mounts[v.Name] = true
			}
			if s, ok := object.(*apps.StatefulSet); ok {
				for _, c := range s.Spec.VolumeClaimTemplates {
					mounts[c.Name] = true
				}
			}
			for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
				where := fmt.Sprintf("%s: %s: %s", name, id, c.Name)
				if c.SecurityContext == nil || c.SecurityContext.ReadOnlyRootFilesystem == nil || !*c.SecurityContext.ReadOnlyRootFilesystem {
					t.Errorf("%s: its root can be written", where)
				}
				request, limit := c.Resources.Requests.Memory(), c.Resources.Limits.Memory()
				if request.IsZero() || limit.IsZero() || request.Cmp(*limit) > 0 {
					t.Errorf("%s: requests %s of memory, limit %s", where, request, limit)
				}
				for _, m := range c.VolumeMounts {
					if !mounts[m.Name] {
						t.Errorf("%s mounts %s, which is no volume", where, m.Name)
					}
				}
			}
		}
	}
	if pods < 8 {
		t.Errorf("only %d pods were looked at", pods)
	}
}

// What the selectors of services, monitors and policies look for is what pods carry.
func TestSelectorsFindTheirPods(t *testing.T) {
	for _, name := range exampleNames(t) {
		found, _ := objects(t, try(t, name, needed[name]))
		matches := func(selector map[string]string) (n int) {
			for _, object := range found {
				if pod := podOf(object); pod != nil {
					all := true
					for k, v := range selector {
						all = all && pod.Labels[k] == v
					}
					if all {
						n++
					}
				}
			}
			return n
		}
		for id, object := range found {
			var selector map[string]string
			want := 1
			switch o := object.(type) {
			case *core.Service:
				selector = o.Spec.Selector
			case *apps.StatefulSet:
				selector = o.Spec.Selector.MatchLabels
			case *apps.Deployment:
				selector = o.Spec.Selector.MatchLabels
			case *networking.NetworkPolicy:
				selector = o.Spec.PodSelector.MatchLabels
				if strings.HasSuffix(id, "-agents") {
					want = len(try(t, name, needed[name])["agents"].([]any))
				}
			default:
				continue
			}
			if n := matches(selector); len(selector) == 0 || n != want {
				t.Errorf("%s: %s selects %d pods by %v, want %d", name, id, n, selector, want)
			}
		}
	}
}

// A chart that is installed as it is shown gives no two releases the same names.
func TestNamesFollowTheRelease(t *testing.T) {
	var all []meta.Object
	found, _ := objects(t, try(t, "self-contained.yaml", needed["self-contained.yaml"]))
	for id, object := range found {
		m, ok := object.(meta.Object)
		if !ok {
			t.Fatalf("%s has no name", id)
		}
		if !strings.HasPrefix(m.GetName(), "plimsoll") || m.GetLabels()["app.kubernetes.io/instance"] != "plimsoll" {
			t.Errorf("%s: %s with %v", id, m.GetName(), m.GetLabels())
		}
		all = append(all, m)
	}
	if len(all) < 8 {
		t.Errorf("only %d objects", len(all))
	}
}
