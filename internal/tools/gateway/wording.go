package gateway

import (
	"strings"
	"sync"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// maxDescribed bounds the part of a tool's title and description that is searched, in bytes; its beginning states the purpose.
	maxDescribed = 600
	// maxArguments bounds the arguments of a tool whose names are searched.
	maxArguments = 32
)

// searchText returns the text that a tool is found by: its name three times, as it counts most, title, description and arguments.
func searchText(t listed) string {
	var b strings.Builder
	name := normalize(t.name)
	for range 3 {
		b.WriteString(name)
	}
	if title, ok := rawjson.Text(t.raw, "title"); ok {
		b.WriteString(normalize(limit.Clip(title, maxDescribed)))
	}
	if text, ok := rawjson.Text(t.raw, "description"); ok {
		text = limit.Clip(text, maxDescribed)
		first, _, _ := strings.Cut(strings.ReplaceAll(text, "\n", ". "), ". ")
		b.WriteString(normalize(first) + normalize(text))
	}
	if at := rawjson.Get(t.raw, "inputSchema", "properties"); !at.IsZero() && t.raw[at.Start] == '{' {
		n := 0
		for m, err := range rawjson.Members(t.raw, at.Start) {
			if n++; err != nil || n > maxArguments {
				break
			}
			b.WriteString(normalize(limit.Clip(string(m.Key), MaxName)))
		}
	}
	return b.String()
}

// queryText returns the text of a query in the form of [searchText].
func queryText(query string) string { return normalize(query) }

// normalize returns a text as lower-case words, each followed by a space. A word that has synonyms is followed by a mark that they share.
func normalize(text string) string {
	var b strings.Builder
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n,.;:!?()[]{}<>\"`'*|=+&%$#@~^\\", r) }) {
		for _, w := range wordsOf(w) {
			b.WriteString(w)
			b.WriteByte(' ')
			if mark := synonymMark(w); mark != "" {
				b.WriteString(mark)
				b.WriteByte(' ')
			}
		}
	}
	return b.String()
}

// wordsOf splits a name at _, -, ., /, spaces and changes from lower to upper case, and returns the words in lower case.
func wordsOf(name string) []string {
	var words []string
	begin := 0
	end := func(at int) {
		if at > begin {
			words = append(words, strings.ToLower(name[begin:at]))
		}
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_' || c == '-' || c == '.' || c == '/' || c == ' ':
			end(i)
			begin = i + 1
		case c >= 'A' && c <= 'Z' && i > 0 && name[i-1] >= 'a' && name[i-1] <= 'z':
			end(i)
			begin = i
		}
	}
	end(len(name))
	return words
}

// synonymMark returns the mark of the synonyms that a word, in one of its usual forms, belongs to; "" if it has none.
func synonymMark(word string) string {
	for _, ending := range []string{"", "s", "es", "ed", "d", "ing"} {
		stem, ok := strings.CutSuffix(word, ending)
		if !ok || len(stem) < 2 {
			continue
		}
		if m := meanings()[stem]; m != "" {
			return m
		}
		if ending == "ing" || ending == "ed" {
			if m := meanings()[stem+"e"]; m != "" {
				return m
			}
			if n := len(stem); n > 2 && stem[n-1] == stem[n-2] { // running, stopped
				if m := meanings()[stem[:n-1]]; m != "" {
					return m
				}
			}
		}
	}
	return ""
}

// meanings returns the mark of each word that has synonyms: "same" and the first word of its line.
var meanings = sync.OnceValue(func() map[string]string {
	of := map[string]string{}
	for line := range strings.Lines(synonyms) {
		words := strings.Fields(line)
		for _, w := range words {
			of[w] = "same" + words[0]
		}
	}
	return of
})

// synonyms are the words that count as the same, one group a line.
const synonyms = `list show display view enumerate see browse
get fetch retrieve read lookup obtain return
delete remove erase drop destroy discard trash rid
create make add new insert generate setup
update edit change modify alter rename adjust patch revise
search find look query locate
run execute start launch trigger invoke perform
stop end halt terminate cancel abort kill
send post submit publish write put
copy duplicate clone fork
move transfer relocate
open navigate visit go
close shut
wait pause sleep until
click press tap push
count number many total
compare diff difference
upload attach
save store
image picture photo screenshot capture
folder directory
database db
issue ticket bug
error exception failure crash
customer client
money payment charge pay
invoice bill
project repo repository
person people user member team
webpage page website site tab
log output logs
deploy rollout release sync
undo revert rollback
connect login
comment reply remark
document doc docs documentation
`
