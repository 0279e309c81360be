// Package printable makes text of others fit for a terminal: names of files, answers of models and
// what servers print may hold characters that move the cursor, change colours or turn the direction
// of writing, and a terminal obeys them.
//
//	fmt.Println(printable.Name(path))                  // a cell of a table
//	w := printable.NewWriter(os.Stderr)                // whatever is written to it
//	err := printable.WriteJSON(os.Stdout, report, "  ") // the same value, escaped
//	text := printable.SafeJSON(answer)                 // for a browser, which shows the strings
//
// Functions keep no state; a [Writer] is safe for concurrent use. The tests hold that what comes
// out is left alone by a second pass, and that JSON still means the same.
package printable
