// Package shim is the few instructions that run in the child between fork and exec: it
// sets resource limits on itself and becomes the command.
//
// Go's fork can't set resource limits, so the supervisor executes its own binary again
// under the name [Name]; the init of this package sees that name, does its work and never
// returns. It imports next to nothing and is initialised before the packages that take
// time, so that the detour costs a millisecond or two. Any program that imports
// process/sandbox has it, test binaries included.
//
// Arguments: NAME, the limits (see [Encode]), the descriptor to report a failure on, the
// path, then the command's own argument vector. On success the descriptor closes on exec
// and the supervisor reads nothing; on failure it reads the error number, after
// [LimitFailed] when the limits were refused.
//
// [Trial] is another role: the child with which a layer is tried. Windows has only this
// one. [Beside] is the third: a process that stands beside a supervisor which an editor may kill. The sandbox's tests run all three.
package shim
