// Package lineedit reads what a person types at a prompt: a line that can be edited, with the lines before it at the arrow keys. A talk with an
// agent uses it.
//
//	r, err := lineedit.New(os.Stdin, os.Stderr, lineedit.Options{Prompt: "> "})
//	text, err := r.Read(ctx) // io.EOF at Ctrl-D, ErrInterrupted at Ctrl-C
//
// A line that ends in a backslash goes on in the next one, and so does all between two lines of three quotes. On a terminal Ctrl-J and Alt-Enter
// begin a new line where the cursor is, and what is pasted is one text: a short one stands in the line, with a mark for each line break; of a longer
// one only "[pasted 1: 320 lines]" is shown, and the text itself is what [Reader.Read] returns. Where there is no terminal, lines come as they are,
// with the same rules.
package lineedit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/ergochat/readline"
	"golang.org/x/term"
)

// ErrInterrupted reports that Ctrl-C was pressed.
var ErrInterrupted = errors.New("interrupted")

// ErrTooLong reports that a text is longer than [MaxText].
var ErrTooLong = fmt.Errorf("what was typed is longer than %d MiB", MaxText>>20)

// MaxText bounds one text, in bytes.
const MaxText = 2 << 20

// maxHistory bounds the lines at the arrow keys.
const maxHistory = 500

// Options are the prompts and the completions.
type Options struct {
	Prompt string
	// More stands before each further line of a text.
	More string
	// Words are completed by the tab key when a line begins with them.
	Words []string
}

// Reader reads what a person types.
type Reader struct {
	o Options
	// of a terminal
	in     *os.File
	before *term.State // of the terminal, when it was opened
	keys   *keys
	editor *readline.Instance
	// of a file or a pipe
	lines *bufio.Reader
}

// New reads from in, and shows on out what is typed there when both are terminals and TERM is not dumb; else it reads lines as they come, with a
// prompt if in is a terminal. From then until [Reader.Close] what is typed on a terminal while nobody reads waits for the next Read without being
// seen; Ctrl-C sends its signal.
func New(in, out *os.File, o Options) (*Reader, error) {
	r := &Reader{o: o}
	if !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) || os.Getenv("TERM") == "dumb" {
		r.lines = bufio.NewReader(in)
		if !term.IsTerminal(int(in.Fd())) {
			r.o.Prompt, r.o.More = "", ""
		}
		return r, nil
	}
	r.in, r.keys = in, &keys{in: in, out: out}
	width := func() (int, int) {
		w, h, err := term.GetSize(int(out.Fd()))
		if err != nil {
			return 80, 24
		}
		return w, h
	}
	config := &readline.Config{
		Prompt: o.Prompt, HistoryLimit: maxHistory, DisableAutoSaveHistory: true, InterruptPrompt: "\n", EOFPrompt: "\n", Undo: true,
		Stdin: r.keys, Stdout: r.keys, Stderr: r.keys, AutoComplete: words(o.Words),
		FuncIsTerminal: func() bool { return true }, FuncGetSize: width,
		FuncMakeRaw: func() error {
			_, err := term.MakeRaw(int(in.Fd()))
			return err
		},
		FuncExitRaw: func() error { return setQuiet(in, r.before) },
		Painter: func(line []rune, _ int) []rune {
			if !slices.Contains(line, lineBreak) {
				return line
			}
			shown := slices.Clone(line)
			for i, c := range shown {
				if c == lineBreak {
					shown[i] = shownBreak
				}
			}
			return shown
		},
	}
	var err error
	if r.before, err = term.GetState(int(in.Fd())); err == nil {
		r.editor, err = readline.NewFromConfig(config)
	}
	if err != nil {
		return nil, fmt.Errorf("read from the terminal: %w", err)
	}
	_, err = io.WriteString(out, pasteOn)
	return r, errors.Join(err, setQuiet(in, r.before))
}

// words completes the beginning of a line.
type words []string

// Do implements [readline.AutoCompleter].
func (w words) Do(line []rune, pos int) ([][]rune, int) {
	var rest [][]rune
	typed := string(line[:pos])
	for _, word := range w {
		if typed != "" && strings.HasPrefix(word, typed) {
			rest = append(rest, []rune(word[len(typed):]))
		}
	}
	return rest, len([]rune(typed))
}

// Terminal reports whether lines are edited on a terminal.
func (r *Reader) Terminal() bool { return r.editor != nil }

// Remember puts a text among those of the arrow keys, as if it had been typed; none without the editor or longer than maxShownPaste.
func (r *Reader) Remember(text string) {
	if r.editor != nil && len(text) <= maxShownPaste {
		_ = r.editor.SaveToHistory(strings.ReplaceAll(text, "\n", string(lineBreak)))
	}
}

// Close restores the terminal's mode. A Read that waits returns. Without the editor it does nothing.
func (r *Reader) Close() error {
	if r.editor == nil {
		return nil
	}
	err := r.editor.Close()
	_, werr := io.WriteString(r.keys.out, pasteOff)
	return errors.Join(err, werr, term.Restore(int(r.in.Fd()), r.before))
}

// Read returns the next text, without the line break at its end. io.EOF says that there is none, [ErrInterrupted] that Ctrl-C was pressed and what
// was typed so far is gone, [ErrTooLong] that it had more than [MaxText]. When ctx ends its cause is the error, and nothing more can be read.
func (r *Reader) Read(ctx context.Context) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := r.text()
		done <- result{text, err}
	}()
	select {
	case got := <-done:
		return got.text, got.err
	case <-ctx.Done():
		_ = r.Close()
		return "", context.Cause(ctx)
	}
}

// quotes stand alone on the line before a text of several lines, and behind it.
const quotes = `"""`

// text returns one text, which has several lines where they end in a backslash or stand between lines of three quotes.
func (r *Reader) text() (string, error) {
	var b strings.Builder
	prompt, quoted := r.o.Prompt, false
	for first := true; ; first = false {
		line, err := r.line(prompt)
		if err == io.EOF && !first {
			return b.String(), nil // the next Read finds the end again
		}
		if err != nil {
			return "", err
		}
		if b.Len()+len(line) > MaxText {
			return "", ErrTooLong
		}
		prompt = r.o.More
		switch before, goesOn := strings.CutSuffix(line, `\`); {
		case quoted && strings.HasSuffix(strings.TrimRight(line, " "), quotes):
			b.WriteString(strings.TrimSuffix(strings.TrimRight(line, " "), quotes))
			return strings.TrimRight(b.String(), "\n"), nil
		case quoted:
			b.WriteString(line + "\n")
		case first && strings.HasPrefix(line, quotes):
			rest := strings.TrimPrefix(line, quotes)
			if text, closed := strings.CutSuffix(rest, quotes); closed {
				return text, nil
			}
			quoted = true
			if rest != "" {
				b.WriteString(rest + "\n")
			}
		case goesOn:
			b.WriteString(before + "\n")
		default:
			b.WriteString(line)
			return b.String(), nil
		}
	}
}

// line shows the prompt and returns one line as it was typed, with what was pasted into it, and adds it to the history unless it has a
// paste. The error is ErrInterrupted after Ctrl-C, ErrTooLong for pastes that are too large, or that of reading.
func (r *Reader) line(prompt string) (string, error) {
	if r.editor == nil {
		if prompt != "" {
			fmt.Fprint(os.Stderr, prompt)
		}
		return r.plainLine()
	}
	r.editor.SetPrompt(prompt)
	line, err := r.editor.ReadLine()
	text := r.keys.restore(line)
	pasted, lost := r.keys.reset()
	switch {
	case errors.Is(err, readline.ErrInterrupt):
		return "", ErrInterrupted
	case err != nil:
		return "", err
	case lost > 0:
		return "", ErrTooLong
	}
	if strings.TrimSpace(line) != "" && !pasted { // the name of a paste would come back without its text
		_ = r.editor.SaveToHistory(line)
	}
	return text, nil
}

// plainLine returns a line of a file or a pipe, without its line end. One longer than MaxText is skipped; the error is then ErrTooLong.
func (r *Reader) plainLine() (string, error) {
	var b strings.Builder
	for {
		piece, err := r.lines.ReadSlice('\n')
		if b.Len()+len(piece) > MaxText {
			for err == bufio.ErrBufferFull { // the rest of the line is no question
				_, err = r.lines.ReadSlice('\n')
			}
			return "", ErrTooLong
		}
		b.Write(piece)
		if err == bufio.ErrBufferFull {
			continue
		}
		if err == io.EOF && b.Len() > 0 {
			err = nil
		}
		return strings.TrimRight(b.String(), "\r\n"), err
	}
}
