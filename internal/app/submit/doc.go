// Package submit hands commands to an engine that places them (see package jobs), and brings up to date what is known of them.
//
//	plan, err := submit.Decide(c, submit.Options{On: "slurm", Command: argv})
//	status, here, err := submit.Submit(ctx, c, plan, options, os.Stdout, os.Stderr)
//	err = submit.Refresh(ctx, c)
//
// A new engine is one case in [openEngine]. What is kept of a job, and shown by `plimsoll runs`, is its engine's word, asked for at most two
// seconds: one that does not answer is said, and its jobs stay as they were.
package submit
