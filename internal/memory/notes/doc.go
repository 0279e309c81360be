// Package notes keeps Markdown files for agents and for their user: the notes that an agent writes with
// Anthropic's memory tool, and the pinned profile with the user's standing instructions.
//
//	dir, err := notes.Open(notes.Options{Dir: "/home/me/.local/state/plimsoll/memory/notes/user"})
//	answer, err := dir.Do(ctx, notes.Command{Command: "view", Path: "/memories"})
//
//	profile := notes.NewProfile(notes.ProfileOptions{Dir: "/home/me/.local/state/plimsoll/memory"})
//	text, err := profile.InForce()
//
// # Notes
//
// [Dir.Do] takes the six commands of the memory tool (memory_20250818): view, create, str_replace, insert, delete and rename. What it
// answers, and the text of each error, are those of Anthropic's documentation, because that is what models were trained on. A path begins
// with /memories and is resolved below the directory through [os.Root], so that neither ".." nor a symbolic link leads out of it.
//
// Any command that changes a file takes the precondition of Anthropic's memory stores: with ContentSHA256 the change is made only if the
// file still has that content. View tells the digest when it is asked to (WithSHA256), else its answer is exactly the documented one.
//
// A note has at most [MaxNote] bytes, a directory [MaxFiles] files and [MaxTotal] bytes, 16 levels deep. Past the bounds of the directory
// the note that was written longest ago goes, never the one being written: each is counted ([Stats]) and told to Options.Evicted.
// A note that is too large itself is an error that names its size.
//
// # The profile
//
// The profile is one Markdown file, profile.md, of at most [MaxProfile] bytes. It lies beside the notes' directory
// and not in it, so that no path of the memory tool reaches it. What is in force is the text that was last
// confirmed ([Profile.Confirm]), of which a copy is kept: an edit of the file counts only from then on. The callers confirm only what a
// person does outside a run. A pin that does not fit is a [FullError], which lists the entries that could go.
//
// # Concurrency
//
// All methods may be called by any goroutine, and many processes may use a directory at once: changes are serialised with a
// lock file beside it. A file is replaced whole, so a reader sees the old text or the new one, also after a crash.
//
// # How it is tested
//
// The examples of Anthropic's documentation and the answers of its TypeScript SDK's own implementation (recorded in testdata) are held
// against these; commands and paths are fuzzed with the rule that nothing outside the root changes; processes write beside each other.
package notes
