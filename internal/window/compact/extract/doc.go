// Package extract writes the summary of a conversation without a model: it chooses
// lines, and never makes one up.
//
//	s := extract.Summarize([]extract.Turn{
//		{Kind: extract.User, Text: "Never touch the table billing_v2."},
//		{Kind: extract.Result, Tool: "bash", Text: output},
//	}, extract.Options{Bytes: 12_000, Messages: 84})
//	s.Text // what goes into the conversation in place of those turns
//
// A summary names the number of messages it stands for, quotes the user's own words, and lists the
// plans and things to do in their last state, what the agent said (at the end of tasks, where something had failed, and
// elsewhere) in whole sentences, the files that were changed, what failed and was not run again since, identifiers
// with the line they stood in, errors, and where the work stood. It is marked as Plimsoll's, so
// that a model does not take it for the user's; a later summary that covers an earlier one reads it back ([Turn] of [Prior]) and
// carries on what still fits.
//
// # What is read by its structure
//
// Calls and results are read for what they are, in the order of the conversation: arguments as
// JSON, or as a patch or a shell command. A list whose items have a state is a plan, whatever
// the tool is called, and its next state takes its place. A path beside something to write is a
// changed file. A result that has an exit code, or lines as runners of tests, compilers and
// shells write them, is a failure of its command until the same command runs again; what it said then
// is told apart.
// Each of these has a part of the summary's room, and the user's words two fifths of it; what
// one leaves goes to the others, and what they all leave to other lines.
//
// # What the agent said
//
// What was left open, what the cause was, what was decided and against what stands in sentences of the agent's, and comes before
// identifiers. It is found without a word of any language. Counted is how many words of a sentence are new in what the agent said, each by how
// rare it is there; in scripts without spaces, pairs of letters. Names and numbers are no words, unless they stand nowhere else in the conversation: ten
// sentences of one form are ten facts where words fill the form, and a routine where other files do. A sentence counts for more when it begins
// with a label ("Decision: …") or is among the last before the user speaks, and for less right before a call, less yet when
// it names what the call names: that is an announcement. Items of a list bring their heading along.
//
// What tools printed stands behind a mark on every line, and is read back only as that: no
// result can write a plan, a title or words of the user's.
//
// # What is chosen of the rest
//
// Every line is a candidate. What speaks for it: the user said it; it commands or
// reports an error; it holds identifiers, paths or numbers, the more the rarer they are in
// this conversation; it looks like no other line (lines are compared with everything that
// has a digit in it struck out, so that a thousand lines of a log count as one kind); it is
// newer. What speaks against it: it has no words (a dump), or is no news of the agent's. Lines are taken by what they add for each byte, a line whose
// identifiers are all there already adds little, and a line said twice is taken once. The
// weights were set on sessions of their author's; `go run ./bench facts` prints what survives of
// sessions that others wrote, by kind, and says which of them were looked at since.
//
// [Notable] finds the one line of each tool result that stands out in the same way, and [Failed]
// what it says that went wrong, for those who leave the result out.
//
// [Own] takes away what a client wraps around its user's words (reminders, environment,
// lists of files): it also tells which message holds the task.
//
// All functions are pure: the same input gives the same bytes, in every process on machines
// of one architecture (others may round a weight differently). They are safe for concurrent
// use, and the time they take grows with the input (a megabyte takes well under a second).
// Input beyond [Options].Scan bytes is left out, oldest first.
//
// Tests plant facts among noise, feed summaries back into summaries, and fuzz text, arguments, kinds and
// budgets: never longer than the budget, always valid UTF-8.
package extract
