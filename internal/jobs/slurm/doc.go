// Package slurm hands jobs to Slurm by its own commands: sbatch, squeue, scancel, and sacct where there is accounting.
//
//	engine := slurm.New(slurm.Options{Told: warn})
//	at, err := engine.Submit(ctx, &job)
//
// The batch script is two lines. It starts a file in the folder of the job, which belongs to its user alone, with the command and the variables in
// it: neither goes through Slurm's controller, into its spool or its accounting. What the job writes, and its report, come to the same folder,
// so that has to be on a file system which the nodes share, as home directories of a cluster are.
//
// squeue is asked for columns of a fixed width, which every version has. Its --json is not used: that of 22.05 does not keep to the jobs that
// are named, and writes 4 KB about each job of the cluster.
package slurm
