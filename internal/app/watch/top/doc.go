// Package top is `plimsoll top`: the runs of this user on this host, live or as they were, on one screen.
//
//	err := top.Show(ctx, core, top.Options{})              // on a terminal, until q
//	snap, err := top.Once(ctx, core, top.Options{})        // one look: a Host and its Rows
//	text := top.Frame(snap, &top.Screen{Width: 80})        // that as text
//	err = top.Show(ctx, core, top.Options{Replay: "14:30"}) // the same screen from the store
//
// # How it is put together
//
// A [Source] makes snapshots; [Live] reads the store of package internal/watch/runs, the ledger of claims, and the host's memory,
// [Replay] the store alone, at a time that moves on by itself. The table (table.go) and the page of one run (page.go) make
// text of a snapshot and know no terminal. The model (model.go) keeps what the person chose, and is a bubbletea program.
//
// # What to expect
//
// Nothing is written but what the person asks for: a pause, its end, or the end of a run. Whatever names come from others pass
// package printable. One look a second costs a reading of the ledger and of what the runs wrote since; processes are read for the
// runs whose tree is open. What the terminal cannot show (colours, a second column) is told by words as well.
//
// A [Source] may be used by several goroutines. The tests compare frames with files, drive the program as a person would, and
// end a real run from a real terminal (e2e).
package top
