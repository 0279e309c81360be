// Package lazy makes what is costly to make when it is first wanted.
//
// Plimsoll is one binary of many commands, and `plimsoll run` stays beside every agent for as
// long as that runs: what another command needs should not be made, and kept, there. A
// regular expression with a class and a count of repetitions takes up to 300 KiB.
//
//	var digits = lazy.Regexp(`\d+`)
//	digits().FindString(text)
//
// [Lists] do the same for words, phrases and patterns, which stand in a text beside the code.
//
// What is made is kept, and may be used by any goroutine.
package lazy
