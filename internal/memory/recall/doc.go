// Package recall decides what is added to a prompt: nothing, unless it would help.
//
//	prompt := recall.Read(text)
//	if prompt.Why == "" { // it may want something
//		res, err := store.Search(ctx, memory.Query{Text: prompt.Query, Loose: true, Limit: recall.Candidates})
//		decision := recall.Decide(prompt, res, time.Now())
//	}
//
// It is pure: no disk, no model, no clock of its own.
package recall
