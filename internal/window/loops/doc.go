// Package loops notices that a model goes round in circles: it calls tools again and again, or says the same, and nothing new comes of it.
// A [Detector] is shown calls as they end; [Find] reads them from the newest messages of a request, in any dialect.
//
// The rules: one call with one result 4 times among the last 10 (identical); A-B-A-B, A-B-C-A-B-C, or one step of several calls three times
// (cycle); one call that fails 4 times in a row, in whatever words (failing); one tool that fails in five steps in a row, whatever it is given
// (errors, for agents of our own); the same sentences at the end of an answer, or the same answer to the same words (said).
//
// A new result is progress, and so is a call that changes something in between, unless it was made before too. Calls that wait or ask how
// far something is may repeat where Options.Foreign is set. What the user says anew begins anew.
//
// A detector keeps hashes, about 2 KB of them; Find keeps nothing, and takes some 10 µs where nothing repeats. The tests plant loops of each kind in
// each dialect, and look for none in whole sessions.
package loops
