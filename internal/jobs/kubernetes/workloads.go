package kubernetes

import (
	"cmp"
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
	// Request and Limit are its memory, 0 for none.
	Request, Limit limit.Bytes

	resources object // of the container as they are written
	index     int    // of the container
}

// kinds are those that are looked through. version is "" where the server is asked for it.
var kinds = []struct{ group, version, kind, plural string }{
	{"apps", "v1", "Deployment", "deployments"},
	{"apps", "v1", "StatefulSet", "statefulsets"},
	{"batch", "v1", "CronJob", "cronjobs"},
	{"batch", "v1", "Job", "jobs"},
	{"extensions.agents.x-k8s.io", "", "SandboxTemplate", "sandboxtemplates"},
}

// maxPages bounds the pages of a list, of 500 each.
const maxPages = 20

// Workloads lists, by kind and name, the workloads of the cluster's namespace that run a command under plimsoll or name its tool; only that
// of this name if name is not "". It passes on to told which kinds may not be listed. If none may be, that is an error.
func Workloads(ctx context.Context, c *kubeapi.Cluster, name string, told func(string)) ([]Workload, error) {
	found := []Workload{}
	var last error
	readable := false
	for _, k := range kinds {
		version := k.group + "/" + k.version
		if k.version == "" {
			version, _ = c.Version(ctx, k.group)
		}
		query := url.Values{"limit": {maxListed}}
		for page := 0; version != ""; page++ { // else the cluster does not have it
			var all list[job]
			err := c.Get(ctx, c.Path(version, k.plural), query, &all)
			if kubeapi.HTTPStatus(err) == http.StatusForbidden {
				last = err
				told(err.Error())
				break
			}
			if err != nil {
				return nil, err
			}
			readable = true
			for i := range all.Items {
				o := &all.Items[i]
				if w, ok := o.workload(k.kind); ok && (name == "" || name == o.Metadata.Name) {
					w.APIVersion, w.Kind, w.Namespace, w.Name = version, k.kind, c.Namespace, o.Metadata.Name
					found = append(found, w)
				}
			}
			if all.Metadata.Continue == "" {
				break
			}
			if page == maxPages {
				told(fmt.Sprintf("namespace %s has more than %s: the first are shown", c.Namespace, limit.Count(500*maxPages, k.kind)))
				break
			}
			query.Set("continue", all.Metadata.Continue)
		}
	}
	if !readable {
		return nil, last
	}
	return found, nil
}

// workload returns the container that runs a tool; ok is false if there is none. A Job that has ended, was made by a CronJob, or was
// submitted by plimsoll does not count.
func (o *job) workload(kind string) (w Workload, ok bool) {
	if kind == "Job" && (!o.Status.CompletionTime.IsZero() || len(o.Metadata.OwnerReferences) > 0 || o.Metadata.Labels[labelKey] != "") {
		return w, false
	}
	for _, t := range []*template{&o.Spec.Template, &o.Spec.PodTemplate, &o.Spec.JobTemplate.Spec.Template} {
		named := cmp.Or(t.Metadata.Annotations[ToolKey], o.Metadata.Annotations[ToolKey])
		for i, c := range t.Spec.Containers {
			command := commandOfRun(slices.Concat(c.Command, c.Args))
			if named != "" && (len(t.Spec.Containers) == 1 || command != nil || c.Name == t.Metadata.Annotations["kubectl.kubernetes.io/default-container"]) {
				command = []string{named}
			}
			if command != nil {
				request, most := parseMemory(c.Resources, "requests"), parseMemory(c.Resources, "limits")
				return Workload{Container: c.Name, Command: command, Request: request, Limit: most, resources: c.Resources, index: i}, true
			}
		}
	}
	return w, false
}

// commandOfRun returns COMMAND of `plimsoll run … -- COMMAND`; nil for any other command.
func commandOfRun(words []string) []string {
	at := slices.IndexFunc(words, func(word string) bool { return path.Base(word) == "plimsoll" })
	if at < 0 || at+1 == len(words) || words[at+1] != "run" {
		return nil
	}
	end := slices.Index(words[at:], "--")
	if end < 0 || at+end+1 == len(words) {
		return nil
	}
	return words[at+end+1:]
}

// parseMemory returns the memory under "requests" or "limits", which JSON may have as a number or a text; 0 if there is none.
func parseMemory(resources object, key string) limit.Bytes {
	list, _ := resources[key].(object)
	return parseQuantity(fmt.Sprint(list["memory"]))
}

// units of quantities, https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/.
var units = map[string]float64{
	"": 1, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
	"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50, "Ei": 1 << 60,
}

// parseQuantity parses a quantity of bytes such as 512Mi; 0 if it is not valid.
func parseQuantity(text string) limit.Bytes {
	number := strings.TrimRight(text, "KMGTPEkim")
	unit, ok := units[text[len(number):]]
	f, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(f >= 0 && f*unit < math.MaxInt64) { // NaN is neither
		return 0
	}
	return limit.Bytes(math.Ceil(f * unit))
}

// Patch returns the change that gives the container this request and limit of memory: a strategic merge patch for kinds that know one, else
// a kubectl command with a JSON patch, as a plain merge would replace their whole list of containers.
func (w *Workload) Patch(request, most limit.Bytes) (patch map[string]any, command string) {
	resources := object{}
	if w.Kind == "SandboxTemplate" { // all of it is replaced, and what else is asked for stays
		maps.Copy(resources, w.resources)
	}
	for of, b := range map[string]limit.Bytes{"requests": request, "limits": most} {
		list := object{}
		old, _ := resources[of].(map[string]any)
		maps.Copy(list, old)
		list["memory"] = formatQuantity(b)
		resources[of] = list
	}
	spec := object{"template": object{"spec": object{"containers": []object{{"name": w.Container, "resources": resources}}}}}
	switch w.Kind {
	case "SandboxTemplate":
		op, _ := json.Marshal([]object{{"op": "add", "path": fmt.Sprintf("/spec/podTemplate/spec/containers/%d/resources", w.index), "value": resources}})
		quoted := strings.ReplaceAll(string(printable.EscapeJSON(op)), "'", `'\''`)
		return nil, fmt.Sprintf("kubectl -n %s patch sandboxtemplate %s --type json -p '%s'", w.Namespace, w.Name, quoted)
	case "CronJob":
		spec = object{"jobTemplate": object{"spec": spec}}
	}
	return object{"apiVersion": w.APIVersion, "kind": w.Kind, "metadata": object{"name": w.Name, "namespace": w.Namespace}, "spec": spec}, ""
}
