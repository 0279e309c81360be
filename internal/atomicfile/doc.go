// Package atomicfile replaces a file as a whole: whoever opens it sees the old content or
// the new one, whenever the writer dies.
//
//	err := atomicfile.Write("report.json", body, 0o600)
//
// [Write] makes a temporary file beside the old one, writes it to the disk and renames it.
// A writer that is killed leaves a file called NAME.tmp-RANDOM, or the finished file. A
// symbolic link is replaced, not followed.
//
// [Rename] is for those who write the new file their own way. On Windows a rename is
// refused while somebody has the old file open, for however short a time, so it is tried
// again for about 20 ms; elsewhere it is tried once.
//
// Both may be called from any goroutine and process; of several writers the last one
// wins. The tests write from many goroutines while others read.
package atomicfile
