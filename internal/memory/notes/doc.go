// Package notes keeps Markdown files for agents and for their user: the notes that an agent writes with Anthropic's memory tool, and the
// pinned profile with the user's standing instructions.
//
//	answer, err := dir.Do(ctx, notes.Command{Command: "view", Path: "/memories"})
//	text, err := profile.InForce()
//
// [Dir.Do] takes the six commands of the memory tool (memory_20250818), and answers in the words of Anthropic's documentation, on which models
// were trained. Paths are resolved through [os.Root]. A note has at most [MaxNote] bytes, a directory [MaxFiles] files and [MaxTotal] bytes:
// past that the note that was written longest ago goes. The profile is one file of at most [MaxProfile] bytes beside that directory, where no
// path of the tool leads; of an edit nothing counts before a person has confirmed it ([Profile.Confirm]).
//
// Any goroutine and many processes may use a directory: changes take turns by a lock file, and files are replaced whole.
package notes
