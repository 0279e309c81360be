// Package jobs hands commands to an engine that places them on a machine: the host's own queue, Kubernetes or Slurm.
//
//	at, err := engine.Submit(ctx, &jobs.Job{ID: id, Argv: argv, Memory: 2 << 30})
//	answers, err := engine.Status(ctx, refs)
//	err = engine.Output(ctx, ref, os.Stdout, os.Stderr)
//
// The engine decides where and when; this package decides nothing about it. Its words for why a job waits are passed on as they are.
package jobs
