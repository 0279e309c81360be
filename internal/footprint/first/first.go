// Package first leaves one processor to the process before anything else is made. It imports nothing but the runtime, so that it is
// among the first packages that are initialised: what a second processor has made until main stays in pages of its own, and when that
// processor is let go of later its pages are filed under lists that are otherwise empty, 0.4 MB of them.
//
// Package main alone imports it.
package first

import "runtime"

// Processors is the number of processors at the start.
var Processors = runtime.GOMAXPROCS(1)

// All gives all of them back.
func All() { runtime.GOMAXPROCS(Processors) }
