package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/jobs/kubeapi"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/limit"
)

// ToolKey is the annotation of a pod's template, or of what it belongs to, that names the tool in its container.
const ToolKey = "plimsoll.dev/tool"

// Workload is a container of something in a cluster that runs one tool again and again.
type Workload struct {
	APIVersion, Kind, Namespace, Name, Container string
	// Command is the tool with its arguments, as far as they are known.
	Command []string
	// Resources are those of the container as they are written, Request and Limit its memory, 0 for none.
	Resources      map[string]any
	Request, Limit limit.Bytes

	index int // of the container
}

// kinds are those that are looked through. version is "" where the server is asked for it.
var kinds = []struct{ group, version, kind, plural string }{
	{"apps", "v1", "Deployment", "deployments"},
	{"apps", "v1", "StatefulSet", "statefulsets"},
	{"batch", "v1", "CronJob", "cronjobs"},
	{"batch", "v1", "Job", "jobs"},
	{"extensions.agents.x-k8s.io", "", "SandboxTemplate", "sandboxtemplates"},
}

// template is a pod's.
type template struct {
	Metadata metadata
	Spec     struct {
		Containers []struct {
			Name          string
			Command, Args []string
			Resources     map[string]any
		}
	}
}

type owner struct {
	Metadata struct {
		metadata
		OwnerReferences []struct{ Kind string }
	}
	Spec struct {
		Template, PodTemplate template
		JobTemplate           struct{ Spec struct{ Template template } }
	}
	Status struct{ CompletionTime time.Time }
}

// maxPages bounds the pages of a list, of 500 each.
const maxPages = 20

// Workloads lists what runs under plimsoll, or names its tool, in the cluster's namespace, by kind and name. name keeps to one name, "" is all. What may not be
// listed is told; it is an error where that is everything.
func Workloads(ctx context.Context, c *kubeapi.Cluster, name string, told func(string)) ([]Workload, error) {
	found := []Workload{}
	var last error
	readable := false
	for _, k := range kinds {
		version := k.group + "/" + k.version
		if k.version == "" {
			var err error
			if version, err = c.Version(ctx, k.group); err != nil || version == "" { // the cluster does not have it
				continue
			}
		}
		query := url.Values{"limit": {maxListed}}
		for page := 0; ; page++ {
			var list struct {
				Metadata struct{ Continue string }
				Items    []owner
			}
			err := c.Get(ctx, kubeapi.Path(version, c.Namespace, k.plural), query, &list)
			if kubeapi.StatusOf(err) == http.StatusForbidden {
				last = err
				told(err.Error())
				break
			}
			if err != nil {
				return nil, err
			}
			readable = true
			for i := range list.Items {
				o := &list.Items[i]
				if w, ok := o.workload(k.kind); ok && (name == "" || name == o.Metadata.Name) {
					w.APIVersion, w.Kind, w.Namespace, w.Name = version, k.kind, c.Namespace, o.Metadata.Name
					found = append(found, w)
				}
			}
			if list.Metadata.Continue == "" {
				break
			}
			if page == maxPages {
				told(fmt.Sprintf("namespace %s has more than %s: the first are shown", c.Namespace, limit.Count(500*maxPages, k.kind)))
				break
			}
			query.Set("continue", list.Metadata.Continue)
		}
	}
	if !readable {
		return nil, last
	}
	return found, nil
}

// workload returns the container that runs a tool. A Job that has ended, was made by a CronJob or was submitted by plimsoll is none.
func (o *owner) workload(kind string) (w Workload, ok bool) {
	t := &o.Spec.Template
	switch {
	case kind == "CronJob":
		t = &o.Spec.JobTemplate.Spec.Template
	case kind == "SandboxTemplate":
		t = &o.Spec.PodTemplate
	case kind == "Job" && (!o.Status.CompletionTime.IsZero() || len(o.Metadata.OwnerReferences) > 0 || o.Metadata.Labels[labelKey] != ""):
		return w, false
	}
	named := t.Metadata.Annotations[ToolKey]
	if named == "" {
		named = o.Metadata.Annotations[ToolKey]
	}
	for i, c := range t.Spec.Containers {
		words := slices.Concat(c.Command, c.Args)
		command := behindRun(words)
		if named != "" && (len(t.Spec.Containers) == 1 || command != nil || c.Name == t.Metadata.Annotations["kubectl.kubernetes.io/default-container"]) {
			command = []string{named}
		}
		if command == nil {
			continue
		}
		w = Workload{Container: c.Name, Command: command, Resources: c.Resources, index: i}
		w.Request, w.Limit = memoryOf(c.Resources, "requests"), memoryOf(c.Resources, "limits")
		return w, true
	}
	return w, false
}

// behindRun returns COMMAND of `plimsoll run … -- COMMAND`, nil for another command.
func behindRun(words []string) []string {
	at := slices.IndexFunc(words, func(word string) bool { return path.Base(word) == "plimsoll" })
	if at < 0 || at+1 >= len(words) || words[at+1] != "run" {
		return nil
	}
	if end := slices.Index(words[at:], "--"); end >= 0 && at+end+1 < len(words) {
		return words[at+end+1:]
	}
	return nil
}

func memoryOf(resources map[string]any, of string) limit.Bytes {
	list, _ := resources[of].(map[string]any)
	text := fmt.Sprint(list["memory"])
	if f, ok := list["memory"].(float64); ok {
		text = strconv.FormatFloat(f, 'f', -1, 64)
	}
	return parseQuantity(text)
}

// units of quantities, https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/.
var units = map[string]float64{
	"": 1, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
	"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50, "Ei": 1 << 60,
}

// parseQuantity reads a quantity of bytes; 0 for what is none.
func parseQuantity(text string) limit.Bytes {
	number := strings.TrimRight(text, "KMGTPEkim")
	unit, ok := units[text[len(number):]]
	f, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || f < 0 || f*unit >= math.MaxInt64 || math.IsNaN(f) {
		return 0
	}
	return limit.Bytes(math.Ceil(f * unit))
}

// Patch returns what gives the container this request and limit of memory: a strategic merge patch, as an object, for the kinds that know
// one; for others a command of kubectl, because a merge would put its list of containers in the place of theirs.
func (w *Workload) Patch(request, most limit.Bytes) (patch map[string]any, command string) {
	memory := func(b limit.Bytes) map[string]any { return object{"memory": quantity(b)} }
	if w.Kind == "SandboxTemplate" {
		resources := maps.Clone(w.Resources)
		if resources == nil {
			resources = object{}
		}
		for of, b := range map[string]limit.Bytes{"requests": request, "limits": most} {
			list, _ := resources[of].(map[string]any)
			merged := object{}
			maps.Copy(merged, list)
			maps.Copy(merged, memory(b))
			resources[of] = merged
		}
		op, _ := json.Marshal([]object{{"op": "add", "path": fmt.Sprintf("/spec/podTemplate/spec/containers/%d/resources", w.index), "value": resources}})
		quoted := strings.ReplaceAll(string(printable.EscapeJSON(op)), "'", `'\''`)
		return nil, fmt.Sprintf("kubectl -n %s patch sandboxtemplate %s --type json -p '%s'", w.Namespace, w.Name, quoted)
	}
	spec := object{"spec": object{"containers": []object{{"name": w.Container, "resources": object{"requests": memory(request), "limits": memory(most)}}}}}
	spec = object{"template": spec}
	if w.Kind == "CronJob" {
		spec = object{"jobTemplate": object{"spec": spec}}
	}
	return object{"apiVersion": w.APIVersion, "kind": w.Kind, "metadata": object{"name": w.Name, "namespace": w.Namespace}, "spec": spec}, ""
}
