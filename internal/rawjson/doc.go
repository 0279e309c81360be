// Package rawjson reads and edits JSON as the bytes it came in.
//
// A relay that decodes a message and encodes it again changes it: keys move, numbers lose
// digits, fields nobody knew are lost. Here a value is a range of bytes. [Members] and
// [Elements] walk one object or array and give where each value lies; [Get] follows a path
// of keys; [Splice] puts other bytes in the place of some; [Quote] and [Unquote] change
// between a text and its literal.
//
// # Which one to use
//
//	               all of it is in memory          it is still arriving
//	a few members  rawjson.Get, Members, Elements  jsonstream.Reader
//	a whole format rawjson.Scanner, in one pass    jsonstream.Lexer, jsonstream.Items
//	as Go values   encoding/json                   encoding/json, where it is small
//
// # What to expect
//
// Everything is linear in the bytes that are looked at and does not recurse with their
// nesting. What is stepped over is only held to its brackets and strings, so a value that
// is wrong inside goes to its receiver as it is, who says so. Values
// nested deeper than [MaxDepth] are a [SyntaxError]. Keys with escapes are decoded before
// they are compared; of two equal keys [Get] takes the last, as most decoders do.
//
// All functions may be called from any goroutine; none changes what it reads. A [Scanner]
// is for one goroutine.
package rawjson
