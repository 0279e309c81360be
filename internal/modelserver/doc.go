// Package modelserver is the server half of the model APIs: it writes what a model answers in the form
// of OpenAI Chat Completions and Responses, Anthropic Messages and Google generateContent, whole or as a
// stream of events. What is answered is for those who use it: the stand-in, which is shipped (package
// standin), and the scripted provider of tests.
//
//	s := &modelserver.Stream{W: w, Context: r.Context(), Timeout: 30 * time.Second}
//	s.Chat(&modelserver.Answer{Model: "m", Stream: true, Text: "hello", NewID: ids})
//	if s.Err != nil {
//		// the client has gone
//	}
//
// Each dialect is a method of its own, so that a program holds those that it calls. A [Stream] is for one
// answer and one goroutine. Objects are written with their members in alphabetical order: the same answer
// has the same bytes.
//
// Tests are those of the two users, and the official clients of e2e/clients, which read what comes.
package modelserver
