// Package embedserver is a stand-in for a service of embeddings, for tests.
//
//	s := embedserver.New(t)
//	client, err := embed.NewClient(embed.ClientOptions{URL: s.URL, Model: embedserver.Model})
//
// It speaks POST /v1/embeddings, and it is no model: a vector has a place for each word of a text, by a hash of the word, and a dozen pairs of words with
// one meaning ("car" and "automobile") share theirs. So its vectors are the same each time, and similar for texts that share words or pairs. What a real model
// does is measured by `go run ./bench memory --embed URL`.
//
// A test says how it fails: [Server.Fail], [Server.Hold]. It notes what it was sent. It is safe for use by many goroutines, and closed with
// the test.
package embedserver
