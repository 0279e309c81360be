// Package heldout has sessions of coding agents, in four dialects, with the facts that a good summary of them keeps. They were written by
// somebody who had not read the extractor, and nothing is to be tuned on them: what `go run ./bench facts` says of them is
// what is claimed. Whoever changes the extractor after a look at them has to have others written.
//
// The talk (what users ask and say in passing, what agents decide, what is to be done, what fails) is written by hand, in four
// languages; what agents read is made by a seeded generator, and most of the bytes. Four sessions more are of the extractor's own author:
// they say in prose what is open, what the cause was and what was decided. Three of them were looked at while its rules for prose were made, the
// Japanese one was not. A Portuguese and a Korean one of the same kind are by somebody who had not read it, and so are six in two languages
// each, whose talk stands where it came to their author's mind: the first of them had been written when nothing was known of the extractor,
// the second when its reading of failures was, the third after a look at the second, the fourth when all of it was known and before it was run. The last two are by somebody
// who had seen nothing of it, and were run when it was as it is.
package heldout
