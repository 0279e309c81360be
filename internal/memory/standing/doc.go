// Package standing finds the standing instructions in what a person typed: "always answer in German", "from now on use pnpm".
//
//	for _, i := range standing.Find(text) {
//		i.Sentence // word for word
//		i.Topic    // "language of answers": a later instruction with the same topic takes the place of this one
//	}
//
// No model is asked: a sentence counts by its form in English, German, Spanish or Chinese. It speaks to the agent (an imperative, "you should", "ich
// möchte, dass du") and says that it holds from now on or always. What an instruction missed costs is little, and one that was none is followed for
// ever: so questions, quotations, reports, code, what the task at hand is to do, and rules for somebody else's prompt are none. Whose words they
// are is the caller's to know. testdata has a set that this was written with, and one that was kept apart; the test holds precision and recall.
package standing
