// Package top is `plimsoll top`: the runs of this user on this host, live or as they were, on one screen.
//
//	err := top.Show(ctx, core, top.Options{})               // on a terminal, until q
//	err = top.Show(ctx, core, top.Options{Replay: "14:30"}) // the same screen from the store
//	snap, err := top.Once(ctx, core, top.Options{})         // one look; [Frame] makes text of it
//
// A [Source] makes snapshots: [Live] reads the store of runs, the ledger of claims and the host's memory, [Replay] the store alone, at a
// time that moves on by itself. Table and page make text of a snapshot and know no terminal; the model keeps what the person chose, and is
// a bubbletea program.
//
// Nothing is written but what the person asks for: a pause, its end, or the end of a run. One look a second costs a reading of the ledger
// and of what the runs wrote since; processes are read for the runs whose tree is open. Names that come from others pass package
// printable. What the terminal cannot show is told by words as well. A [Source] may be used by several goroutines.
package top
