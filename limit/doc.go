// Package limit holds the quantities Plimsoll bounds and how people write them.
//
// A [Bytes] is a size. In configuration, on the command line and in messages it is
// written with binary units, as 512M or 4G (M is 2^20, G is 2^30); in JSON it is
// always a plain number of bytes, so that a script never parses a unit.
//
//	b, err := limit.ParseBytes("1.5G")   // 1610612736
//	b.String()                           // "1536M", which parses back to the same size
//	b.Human()                            // "1.5 GiB", for a person, rounded
//
// [Cut] shortens a text to a number of bytes and keeps both of its ends, without ever
// splitting a rune or making the text longer. [Head] keeps the beginning of what a program prints.
//
// The package imports nothing of Plimsoll, so every plane can use it.
package limit
