package kubernetes

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	labelKey = "plimsoll.dev/job"
	nonceKey = "plimsoll.dev/submission"
	// agentName is the container with the command.
	agentName = "agent"
	// user is nobody's in particular, as in the chart.
	user = 65532
	// kept is the time for which a Job is to be seen after its end: who submitted it may sleep over it.
	kept = 24 * time.Hour
	// graceTime is for images before a run, and its report after it, beyond its own limit of time.
	graceTime = 10 * time.Minute
	// maxSecret bounds a Secret, in bytes of its values (the API's MaxSecretSize).
	maxSecret = 1 << 20
	binDir    = "/plimsoll-bin"
	homeDir   = "/home/agent"
	workDir   = "/work"
	// archiveKey is the key of the Secret with the archive. No variable can have its name.
	archiveDir, archiveKey = "/plimsoll-archive", "archive.tar.gz"
	reportFile             = "/dev/termination-log"
)

// object is one of the API's, before it is JSON.
type object = map[string]any

// secretValues returns the content of the job's Secret by key: the archive of the work directory and the variables, which nobody must read in the
// description of the pod. It is an error if they are too large for one.
func secretValues(j *jobs.Job, w work) (map[string][]byte, error) {
	values, size := map[string][]byte{}, len(w.archive)
	if w.archive != nil {
		values[archiveKey] = w.archive
	}
	for _, v := range j.Env {
		name, value, _ := strings.Cut(v, "=")
		values[name] = []byte(value)
		size += len(value)
	}
	if size > maxSecret {
		return nil, fmt.Errorf("the variables and the work directory make %s, and a Secret holds %s; use --work claim:NAME", limit.Bytes(size).Human(), limit.Bytes(maxSecret).Human())
	}
	return values, nil
}

// secretManifest is a Secret that goes with its Job.
func secretManifest(values map[string][]byte, name, uid string) object {
	return object{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": true, "data": values,
		"metadata": object{"name": name, "labels": labels(name), "ownerReferences": []object{{"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid}}},
	}
}

// labels returns the labels of all objects of a job.
func labels(name string) object {
	return object{labelKey: name, "app.kubernetes.io/managed-by": "plimsoll"}
}

// manifest returns the Job as an object. nonce is stored as an annotation.
func (e *Engine) manifest(j *jobs.Job, w work, nonce string) object {
	ofJob := labels(j.ID)
	if j.Queue != "" {
		ofJob[kueueGroup+"/queue-name"] = j.Queue
	}
	return object{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": object{"name": j.ID, "labels": ofJob, "annotations": object{nonceKey: nonce}},
		"spec": object{
			"backoffLimit": j.Retries, "ttlSecondsAfterFinished": kept.Seconds(),
			"podReplacementPolicy": "Failed", // never two of one agent at a time
			"template":             object{"metadata": object{"labels": labels(j.ID)}, "spec": e.podSpec(j, w)},
		},
	}
}

// podSpec returns the specification of the job's pod: init containers that copy plimsoll in and fill the work directory, and the container that runs
// the command under plimsoll.
func (e *Engine) podSpec(j *jobs.Job, w work) object {
	flags := []string{"--report=" + reportFile}
	if j.Time > 0 && !slices.ContainsFunc(j.Flags, func(f string) bool { return strings.HasPrefix(f, "--time-max") }) {
		flags = append(flags, "--time-max="+j.Time.String())
	}
	env := []object{
		{"name": "HOME", "value": homeDir},
		{"name": "PLIMSOLL_JOB", "value": j.ID},
		{"name": "PLIMSOLL_RESOURCES_MIN_FREE", "value": "0"}, // the container has what the run needs for itself
	}
	requests, limits := object{}, object{}
	if j.Memory > 0 {
		requests["memory"] = formatQuantity(j.Memory)
		env = append(env, object{"name": "PLIMSOLL_RESOURCES_RESERVATION", "valueFrom": object{"resourceFieldRef": object{"resource": "requests.memory"}}})
	}
	if j.MemoryLimit > 0 {
		// A run keeps its own limit below the container's by as much, or the kubelet would have all of it killed together.
		limits["memory"] = formatQuantity(max(j.MemoryLimit, j.Memory) + max(j.MemoryLimit/31+1, 16*limit.MiB))
	}
	if j.CPUs > 0 {
		requests["cpu"] = fmt.Sprintf("%.0fm", math.Ceil(j.CPUs*1000))
		limits["cpu"] = requests["cpu"]
	}
	for _, v := range j.Env {
		name, _, _ := strings.Cut(v, "=")
		env = append(env, object{"name": name, "valueFrom": object{"secretKeyRef": object{"name": j.ID, "key": name}}})
	}
	from := []object{}
	for _, name := range e.o.Secrets {
		from = append(from, object{"secretRef": object{"name": name}})
	}
	volumes, mounts := []object{{"name": "plimsoll-bin", "emptyDir": object{"sizeLimit": "256Mi"}}}, []object{}
	for _, v := range []struct{ name, path string }{{"home", homeDir}, {"tmp", "/tmp"}, {"work", workDir}} {
		volumes = append(volumes, object{"name": v.name, "emptyDir": object{}})
		mounts = append(mounts, object{"name": v.name, "mountPath": v.path})
	}
	if w.claim != "" {
		volumes[3] = object{"name": "work", "persistentVolumeClaim": object{"claimName": w.claim}}
	}
	// What Pod Security asks of each container.
	restricted := object{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": object{"drop": []string{"ALL"}}}
	inits := []object{{
		"name": "plimsoll", "image": e.o.Plimsoll, "command": []string{"/plimsoll", "copy-to", binDir},
		"resources":       object{"requests": object{"cpu": "10m", "memory": "32Mi"}, "limits": object{"memory": "64Mi"}},
		"securityContext": restricted, "volumeMounts": []object{{"name": "plimsoll-bin", "mountPath": binDir}},
	}}
	resources := object{"requests": requests, "limits": limits}
	if w.command != nil {
		filling := slices.Clone(mounts)
		if w.archive != nil {
			volumes = append(volumes, object{"name": "archive", "secret": object{"secretName": j.ID, "items": []object{{"key": archiveKey, "path": archiveKey}}}})
			filling = append(filling, object{"name": "archive", "mountPath": archiveDir, "readOnly": true})
		}
		inits = append(inits, object{
			"name": "work", "image": e.o.Image, "command": escapeWords(w.command), "workingDir": workDir, "env": env[:1], "envFrom": from,
			"resources": resources, "securityContext": restricted, "volumeMounts": filling, "terminationMessagePolicy": "FallbackToLogsOnError",
		})
	}
	pod := object{
		"restartPolicy": "Never", "automountServiceAccountToken": false, "enableServiceLinks": false, "priorityClassName": e.o.Priority,
		"volumes": volumes, "initContainers": inits,
		"securityContext": object{
			"runAsNonRoot": true, "runAsUser": user, "runAsGroup": user, "fsGroup": user, "fsGroupChangePolicy": "OnRootMismatch",
			"seccompProfile": object{"type": "RuntimeDefault"},
		},
		"containers": []object{{
			"name": agentName, "image": e.o.Image, "command": escapeWords(append([]string{binDir + "/plimsoll"}, j.RunArguments(flags...)...)), "workingDir": w.dir,
			"env": env, "envFrom": from, "resources": resources, "securityContext": restricted,
			"terminationMessagePath": reportFile, "terminationMessagePolicy": "FallbackToLogsOnError",
			"volumeMounts": append(mounts, object{"name": "plimsoll-bin", "mountPath": binDir, "readOnly": true}),
		}},
	}
	if j.Time > 0 {
		// The pod's, which begins on its node: the Job's own deadline would count the time in the queue.
		pod["activeDeadlineSeconds"] = math.Ceil((j.Time + graceTime).Seconds())
	}
	return pod
}

// escapeWords returns the words of a command so that the kubelet reads no $(NAME) and $$ in them.
func escapeWords(words []string) (out []string) {
	for _, word := range words {
		out = append(out, strings.ReplaceAll(word, "$", "$$"))
	}
	return out
}

// formatQuantity writes bytes as Kubernetes does, in whole MiB, rounded up.
func formatQuantity(b limit.Bytes) string {
	return fmt.Sprintf("%dMi", (b+limit.MiB-1)/limit.MiB)
}
