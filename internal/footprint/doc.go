// Package footprint makes a process small that waits for hours beside other people's work.
//
//	small := footprint.Shrink() // once it has started
//	defer small.Restore()
//	small.Again() // every minute
//
// A process that has too little address space for this program (ulimit -v) ends with one line that says so, as soon as this package is
// initialised.
//
// Memory comes back as it is used, so nothing but the time of some page faults is lost. On other systems than Linux only
// Go's own memory is given back.
package footprint
