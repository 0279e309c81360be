// Package atomicfile replaces a file as a whole: whoever opens it sees the old content or the new one, whenever the writer dies.
//
//	err := atomicfile.Write("report.json", body, 0o600, atomicfile.Durable)
//	err := atomicfile.Replacement{Root: root, Name: "tasks", Perm: 0o600, Kept: atomicfile.Volatile}.Write(body)
//
// The new content goes into a temporary file beside the old one, which is then renamed. Each caller says whether it must survive a power cut
// ([Durable]) or not ([Volatile], with the reason beside it). A writer that is killed leaves the temporary file, NAME.tmp-RANDOM unless
// [Replacement.Temporary] says otherwise. A symbolic link is replaced, not followed, and within an [os.Root] nothing outside of it is reached.
//
// All functions may be called from any goroutine and process; of several writers the last one wins, with [Replacement.Create] the first.
package atomicfile
