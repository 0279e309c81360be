// Package jsonstream reads JSON that is still arriving, in constant memory.
//
// # Which one to use
//
//	you have                      you want                                  use
//	all of it, in memory          values where they lie                     package rawjson
//	an io.Reader                  to walk it, value by value (pull)         Reader
//	pieces, as they are written   the values of one message (push)          Lexer
//	pieces, as they are written   where the items of a long list lie        Items
//	pieces of one string          what it says                              Unquoter
//	pieces of a text              how long a list it is, if it is one       Counter
//
// A [Reader] has two ways over a value: [Reader.Value] and [Reader.Kept] hold it to the
// grammar, [Reader.Skip] and [Reader.Copy] to its brackets and strings, for what goes on to
// somebody who reads it himself. A [Lexer] does the latter with what its [Visitor] does not
// enter. [Items] holds everything to the grammar. window/wire has a lexer of its own for the
// streams of models, which looks for a handful of names only.
//
// # Bounds
//
// Nothing here recurses with the nesting. Values nested deeper than [Options.MaxDepth], or
// than rawjson.MaxDepth, are a [SyntaxError]. A Reader holds one buffer, which grows up to
// [Options.MaxValue] for what Kept gives; a Lexer a key of [MaxKey] bytes; Items and Counter
// nothing but where they are. Numbers may have any length: who decodes one bounds it.
//
// # What is odd in the input
//
// Broken UTF-8 passes as it is, except where a text is decoded into a [Clip], which is
// always valid. A lone half of a surrogate pair becomes U+FFFD. Keys that come twice come
// twice. White space without an end is refused where [Options.MaxSpace] says so.
//
// # Concurrency
//
// Everything here is for one goroutine at a time.
//
// # How it is tested
//
// Fuzzed here, and where it is used, against encoding/json and against itself in pieces of
// any size.
package jsonstream
