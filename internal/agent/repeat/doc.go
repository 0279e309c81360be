// Package repeat notices that a model goes round in circles: it calls tools again and again, and
// nothing new comes of it.
//
//	d := repeat.New(repeat.Options{})
//	for each step of the loop {
//		found, ok := d.Observe(calls)
//		if ok {
//			… the first time give the model found.Nudge, the second time end with found.Detail
//		}
//	}
//
// # Rules
//
//   - identical: one call Options.Identical times in a row, with the same arguments and the same
//     result;
//   - cycle: A-B-A-B or A-B-C-A-B-C, each with the result it had before; and a step of several
//     calls three times in a row, whatever their order;
//   - errors: one tool fails in five steps in a row, whatever it is given.
//
// Calls are the same when their names and arguments are: the arguments are compared as JSON, so
// the order of keys, white space and the way a number is written don't count. A result that is
// new is progress: who asks for the state of something until it is there goes in no circle. An
// error is never progress, however it is worded. Calls of one step don't know each other's
// results, so sixty calls that fail together are one failure.
//
// # What to expect
//
// A detector remembers Options.Window calls and steps and [MaxTools] tools: names, and hashes
// of everything else. [Detector.Bytes] returns the sum: about 2 KB. A call costs a hash of
// its arguments. Arguments of more than [MaxArguments] are compared as text.
//
// A Detector belongs to one goroutine; [Digest] may be called by any.
//
// # How it is tested
//
// A table of sequences for each rule, and of what must not be taken for a loop; a property test
// that sequences without a repetition never are; a fuzz target for the comparison of arguments.
package repeat
