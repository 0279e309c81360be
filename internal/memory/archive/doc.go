// Package archive keeps entries of memory in segments on disk that many processes write to at once. It knows nothing of what an entry says.
//
//	err = a.Append(ctx, "project/x", false, archive.Line{Body: []byte(`{"x":"…"}`)})
//	seen, err := a.Read("project/x", &at, func(p archive.Place, l archive.Line) error { … }) // and again: what is new
//
// A writer locks a segment for one append and takes another one when somebody else has it: nobody waits. Readers take no lock. A process that
// is killed loses at most the entry that it was writing, which the next writer cuts off ([Archive.Torn]); a wrong byte costs its own line and
// no other. [Archive.Rewrite] writes a segment's next generation beside it, renames it, and removes the old one: of two only the newer counts.
//
// An open archive holds a few hundred bytes for each namespace that it has written to. Files are 0600 and below the directory ([os.Root]).
package archive
