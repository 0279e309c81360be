// Package kubernetes hands jobs to a cluster: each is a Job (batch/v1) whose pod runs `plimsoll run -- COMMAND`.
//
//	engine := kubernetes.New(kubernetes.Options{Open: open, Image: "registry.example.com/agent:1", Plimsoll: "ghcr.io/plimsoll/plimsoll:0.1.0"})
//	ref, err := engine.Submit(ctx, job)
//
// The pod passes the restricted profile of Pod Security. An init container copies plimsoll into it, another one fills the work directory. The
// job's name is its ID, so that the API refuses a second one. Variables travel in a Secret that the Job owns: who deletes the Job has deleted all.
//
// What a job is at comes from the Job, its pod, Kueue's Workload and events, in their own words.
package kubernetes
