// Package watch is the family of commands that look at runs: `plimsoll runs`, `top`, `watch` and `status`.
//
// All of them read the store of package internal/watch/runs, which every run writes; none of them needs a daemon. [Open] gives the store
// as it is now, with an end for each run whose plimsoll was killed; who looks on polls it. What a project or an agent has named is
// made printable by the command that prints it.
package watch
