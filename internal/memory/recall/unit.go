package recall

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/memory/index"
)

// unit is a word as a reader sees it: the parts that only capital letters tell apart are one (TypeScript), those that a sign joins are several.
type unit struct {
	index.Token
	// initials are those of the parts of a word that has several: ts of TypeScript.
	initials string
	// shown is the word as it is written.
	shown string
}

// units returns the words of a text.
func units(text string) (all []unit) {
	var words index.Words
	at := 0 // in the run, behind the part before
	words.Tokens(text, func(t index.Token) {
		if t.Whole {
			return
		}
		if t.Dense || t.Part == 0 {
			at = 0
		}
		letters := strings.ToLower(t.Run)
		from := strings.Index(letters[min(at, len(letters)):], t.Word)
		from = max(from, 0) + min(at, len(letters))
		joined := !t.Dense && t.Part > 0 && from == at && at > 0 && len(all) > 0
		at = from + len(t.Word)
		first, _ := utf8.DecodeRuneInString(t.Word)
		if !joined {
			shown := t.Word
			if !t.Dense && len(letters) == len(t.Run) && at <= len(t.Run) {
				shown = t.Run[from:at]
			}
			all = append(all, unit{Token: t, shown: shown})
			return
		}
		last := &all[len(all)-1]
		if last.initials == "" {
			before, _ := utf8.DecodeRuneInString(last.Word)
			last.initials = string(before)
		}
		last.initials += string(first)
		last.Word += t.Word
		if len(letters) == len(t.Run) && at <= len(t.Run) {
			last.shown += t.Run[from:at]
		}
		last.Term, last.Part = last.Word, t.Part
	})
	return all
}

// isName reports whether a word is written as a name: with several capital letters, with a digit beside letters, or with one capital letter within a
// sentence, except in German, which writes all nouns so.
func (u *unit) isName(german bool) bool {
	upper := 0
	for i, r := range u.shown {
		if unicode.IsUpper(r) && (i > 0 || !u.Breaks && !german) {
			upper++
		}
	}
	return upper > 0 || strings.ContainsFunc(u.Word, unicode.IsDigit) && strings.ContainsFunc(u.Word, unicode.IsLetter)
}

// isGerman reports whether a text has words of German that no other of the four languages has.
func isGerman(all []unit) bool {
	return slices.ContainsFunc(all, func(u unit) bool {
		switch u.Word {
		case "und", "der", "das", "ist", "wie", "nicht", "für", "wir", "ich", "wer", "wann", "wo", "mit", "auf", "eine", "einen", "wird", "werden", "bei", "läuft", "steht", "heißt", "unser", "unsere", "welche", "welcher", "welches", "nach", "sind", "im", "meine", "mein", "meinen", "vom", "zum", "zur", "beim", "den", "dem":
			return true
		}
		return false
	})
}

// rank is how common the word is.
func (u *unit) rank() rank {
	r := max(ranks()[u.Word], ranks()[u.Term])
	switch {
	case u.Dense && strings.ContainsAny(u.Word, emptyHan):
		return function
	case u.Dense && commonHan()[u.Word]:
		return trade
	case u.Term == "":
		return function
	}
	return r
}
