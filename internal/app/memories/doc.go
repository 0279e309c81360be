// Package memories is the memory plane for the user's programs: where it lies, what the command line does with it, and what agents are
// offered.
//
//	m, err := memories.Open(core, memories.Options{})
//	defer m.Close()
//	found, err := m.Search(ctx, memories.Query{Text: "which database"})
//
// What a person adds outside of a run has the origin "user". Inside a run, which package fence finds out whatever the process has shed, the
// same commands write as "agent", and pinning, confirming and forgetting what others said are refused: whatever reads a web page there must
// not give orders to later sessions.
//
// The pinned profile is the file profile.md. Each entry of it is also a record of kind "pin", so that it is listed and found; the file
// counts, and the records follow it.
package memories
