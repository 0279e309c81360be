// Package lineedit reads what a person types at a prompt: a line that can be edited, with the lines before it at the arrow keys.
//
//	r, err := lineedit.New(os.Stdin, os.Stderr, lineedit.Options{Prompt: "> "})
//	defer r.Close()
//	text, err := r.Read(ctx) // io.EOF at Ctrl-D, ErrInterrupted at Ctrl-C
//
// # More than one line
//
// A line that ends in a backslash goes on in the next one, and so does all between two lines of three quotes. On a terminal Ctrl-J and
// Alt-Enter begin a new line where the cursor is, and what is pasted is one text, whatever its lines are: a short one stands in the
// line, with a mark for each line break; of a longer one only "[pasted 1: 320 lines]" is shown, and the text itself is what
// [Reader.Read] returns.
//
// # Where there is no terminal
//
// Lines come from a file or a pipe as they are, with the same rules for those that go on.
package lineedit
