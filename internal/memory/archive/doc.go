// Package archive keeps entries of memory in segments on disk that many processes write to at once.
//
//	a, err := archive.Open(archive.Options{Dir: dir})
//	defer a.Close()
//
//	err = a.Append(ctx, "project/x", false, archive.Line{Body: []byte(`{"x":"…"}`)})
//
//	var at archive.Cursor
//	seen, err := a.Read("project/x", &at, func(p archive.Place, l archive.Line) error { … }) // and again: what is new
//
// It knows nothing of what an entry says; package memory does.
//
// # Files
//
// Each namespace has a folder under a digest of its name, which stands in the file "namespace" and at the head of each segment. All names are
// resolved below the directory (os.Root); directories are 0700, files 0600. A segment is lines: the length and the CRC-32C of a JSON text,
// and that text.
//
//	0000009c 3c1d09aa {"k":"q0rX2m…","r":"Zb1x09aQ","b":{…}}
//
// k is the entry's key, b its body. What many entries have in common is written out as s in the first two entries of a segment that have it;
// in the others its digest r stands for it. A segment ends at 4 MiB.
//
// # Many writers
//
// A writer locks a segment (flock(2), LockFileEx) for one append and takes another one, or a new one, when somebody else has it: nobody
// waits, and there are as many open segments as writers at one moment. Readers take no lock: they read whole lines from where they were.
//
// # Crashes and damage
//
// A process that is killed at any byte loses at most the entry that it was writing: the next writer cuts it off, and [Archive.Torn] counts
// it. Lines that are not entries are skipped and counted. Whatever byte of a file is wrong, no other entry is lost with it: lines end at
// line feeds, and a shared text stands twice. When the disk is full Append is an error, and the file is as it was before.
//
// # Rewriting
//
// [Archive.Rewrite] writes a segment's next generation beside it, renames it, and then empties and removes the old one. Of two generations
// only the newer one counts, whenever the process dies. Readers see that a segment is gone ([Seen.Gone]) and begin it again.
//
// # What to expect
//
// An open archive holds a few hundred bytes for each namespace that it has written to. An append is a listing of the folder, a lock and a
// write; with durable also an fsync. Reading is sequential.
//
// # How it is tested
//
// Files are cut at every byte and every byte is made wrong; real processes append at once, are killed while they append and rewrite, and
// run into a limit of file size and a full disk. The reader is fuzzed.
package archive
