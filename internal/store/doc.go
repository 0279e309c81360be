// Package store has what the stores below the state directory have in common: lines with a checksum, and what happens to a damaged file.
//
//	buf = store.AppendLine(buf, text)       // 00000058 3c1d09aa {"at":"2026-11-20T09:12:44Z", … }
//	text, err := store.Text(line)           // of one line that was read
//	aside, err := store.SetAside(root, "ledger")
//
// A process that is killed while it appends leaves a last line without its end, which its reader cuts off; a wrong byte costs one line.
// Damaged files stay for people to look at, at most [KeptDamaged] in a directory.
package store
