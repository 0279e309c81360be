// Package repair pairs tool calls and their results again, in the way each dialect wants
// them, so that a history with a hole in it is not refused by the provider.
//
//	next, actions, err := repair.Repair(r, repair.Options{})
//	// next == r when there was nothing to do
//
// Histories break when a client is interrupted in a call, when it cuts old messages, when
// two of them write one session, or when a conversation goes on at another provider.
//
// # What it does
//
// The history is walked in order. A result belongs to the newest call before it that has
// its id and no result yet, so an id that is used again pairs with its own call. Gemini's
// calls mostly have no ids, or the results have others: there name and order decide, and
// results never reach back over a call of their name that is open later.
//
//   - A result in the wrong place is moved to its call, byte for byte.
//   - A call without a result gets a short note in place of one, marked as an error where
//     the dialect has a mark, see [Note]. A call for a computer's screen can't get a text,
//     and is dropped.
//   - A second result of a call is dropped when it says the same, and else its words go
//     behind those of the first. A result of no call is dropped. A result that comes before
//     the only call with its id is moved behind it.
//   - A second call with an id that may not be used twice (with Options.UniqueIDs: in the whole history) gets another id, and so does its
//     result; an exact copy made at the same time, without a result, is dropped.
//   - Of messages that were sent before (Options.Frozen) none is changed. A result that comes when its call was sent with a note becomes
//     words of the user where it stands: the model has read the note, and reads the result now.
//   - What a tool at the provider was asked in a turn that is over gets what it found, where that came too late, or an
//     error as the provider writes it; where nobody knows how to write one (Google's toolCall), what was asked is dropped.
//     What such a tool found for nobody is dropped, and so is an approval of nothing. A request for an approval that the
//     user went past is answered no.
//   - Ids over Options.MaxID characters, and in Messages ids with characters that are not
//     taken there, are shortened in both places, always to the same; with Options.NineIDs every
//     other id becomes nine letters and digits.
//   - Chat: an empty tool_calls goes. Responses: a reasoning item whose following item is gone goes too.
//   - Messages: results come first, all in one message; the first message is the user's.
//     Gemini: as many responses as calls, in one content; calls follow a user's content.
//
// The open last turn is left alone, ids and all: when the last message is the model's, calls
// in it that nothing answers are the client's business. Thinking blocks are never touched, but
// for those that would end a message because what they led to is dropped.
// Words of users, words of the model and real results are all still there, apart from results
// that belong to no call, and second ones with media; [Action.Bytes] says how large those were.
//
// # What to expect
//
// The same input gives the same output, and the output gives itself: the same pointer.
//
// Where the provider keeps a part of the history ([wire.Bypass]) what is visible is mended: a result whose call may be
// kept is left alone, and so is all that a compaction of the provider's stands for (see [wire.Request.Edge]). Who compacts
// in a request, the provider or the agent, makes no difference: with a hole in it it would be refused. A
// request that is in order costs some microseconds and no memory to speak of. Time grows
// linearly with the history. Repair is a pure function and may be called from any
// goroutine.
//
// Tables hold each rule in each dialect; a fuzz target holds random broken histories
// against the strict validators of package wire.
package repair
