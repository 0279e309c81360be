package memory

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unsafe"

	"github.com/plimsoll/plimsoll/internal/memory/archive"
	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// entryBody is the body of a line: a record, or what happened to records. Keys are short because there is one of each per record.
type entryBody struct {
	ID          string      `json:"id,omitempty"`
	Version     int         `json:"v,omitempty"` // of a record that was changed; the highest one counts
	Kind        string      `json:"k,omitempty"` // "" for an episode
	Origin      string      `json:"o,omitempty"` // "" for a tool's
	Turn        int         `json:"n,omitempty"`
	Age         int64       `json:"a,omitempty"` // milliseconds from when it was said to when it was recorded
	Count       int         `json:"c,omitempty"` // beyond 1
	Tool        string      `json:"t,omitempty"`
	File        string      `json:"f,omitempty"`
	From        []string    `json:"d,omitempty"`
	Fact        *Fact       `json:"fact,omitempty"`
	Quarantined bool        `json:"q,omitempty"`
	Recalled    int64       `json:"r,omitempty"` // milliseconds since 1970
	Uses        []storedUse `json:"u,omitempty"` // the newest, the oldest of them first
	Text        string      `json:"x,omitempty"`

	Seen   int        `json:"seen,omitempty"`   // how often the passage with this line's key came again
	Recall []string   `json:"recall,omitempty"` // records that were given to somebody, at Recalled
	Use    *storedUse `json:"use,omitempty"`    // and to whom
	Drop   []string   `json:"drop,omitempty"`   // records that are there no longer
}

// entryShared holds the fields that all records of a conversation share.
type entryShared struct {
	Client       string `json:"client,omitempty"`
	Run          string `json:"run,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	Role         string `json:"role,omitempty"`
	Speaker      string `json:"speaker,omitempty"`
	Scope        string `json:"scope,omitempty"`
}

// letter returns the letter that stands for a kind on disk, "" for an episode.
func (k Kind) letter() string {
	switch k {
	case KindFact:
		return "f"
	case KindNote:
		return "n"
	case KindPin:
		return "p"
	}
	return ""
}

// letter returns the letter that stands for an origin on disk, "" for a tool.
func (o Origin) letter() string {
	switch o {
	case OriginUser:
		return "u"
	case OriginAgent:
		return "a"
	}
	return ""
}

// parseKind returns the kind that a letter on disk stands for. An unknown letter is an error.
func parseKind(letter string) (Kind, error) {
	switch letter {
	case "":
		return KindEpisode, nil
	case "f":
		return KindFact, nil
	case "n":
		return KindNote, nil
	case "p":
		return KindPin, nil
	}
	return "", fmt.Errorf("a record of an unknown kind %q", letter)
}

// parseOrigin returns the origin that a letter on disk stands for; a tool, the least trusted, for an unknown one.
func parseOrigin(letter string) Origin {
	switch letter {
	case "u":
		return OriginUser
	case "a":
		return OriginAgent
	}
	return OriginTool
}

// marshalPlain encodes v like json.Marshal, but does not escape "<", ">" and "&".
func marshalPlain(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// encodeRecord returns the line of a record as the archive stores it, with its version and uses.
func (s *Store) encodeRecord(r *Record, version int, uses ...storedUse) (archive.Line, error) {
	b := entryBody{
		ID: r.ID, Version: version, Kind: r.Kind.letter(), Origin: r.Origin.letter(), Turn: r.Source.Turn, Tool: r.Source.Tool,
		File: r.Source.File, From: r.From, Fact: r.Fact, Quarantined: r.Quarantined, Uses: uses, Text: r.Text,
		Age: r.Recorded.UnixMilli() - r.Said.UnixMilli(),
	}
	if r.Count > 1 {
		b.Count = r.Count
	}
	if !r.Recalled.IsZero() {
		b.Recalled = r.Recalled.UnixMilli()
	}
	body, err := marshalPlain(b)
	if err != nil {
		return archive.Line{}, err
	}
	shared := entryShared{
		Client: r.Source.Client, Run: r.Source.Run, Conversation: r.Source.Conversation, Role: r.Source.Role, Speaker: r.Source.Speaker, Scope: r.Scope,
	}
	l := archive.Line{Key: s.passageKey(r), Body: body}
	if shared != (entryShared{}) {
		if l.Shared, err = marshalPlain(shared); err != nil {
			return archive.Line{}, err
		}
	}
	return l, nil
}

// decodeBody parses the body of a line.
func decodeBody(text []byte) (entryBody, error) {
	var b entryBody
	err := json.Unmarshal(text, &b)
	return b, err
}

// decodeInPlace parses the body of a line for immediate use: the strings of the result are valid only as long as text is, and for an episode only the
// fields that an index needs are set.
func decodeInPlace(text []byte) (entryBody, error) {
	var b entryBody
	if parseFast(text, &b) {
		return b, nil
	}
	return decodeBody(text)
}

// decodeShared decodes the shared fields of a record; nil gives none.
func decodeShared(text []byte) (entryShared, error) {
	var s entryShared
	if text == nil {
		return s, nil
	}
	err := json.Unmarshal(text, &s)
	return s, err
}

// toRecord builds the record that a line holds, from its body, its shared fields and the name of its namespace. It returns an error for an invalid id
// or kind, such as of a newer version.
func (b *entryBody) toRecord(namespace string, shared *entryShared) (Record, error) {
	id, err := parseID(b.ID)
	if err != nil {
		return Record{}, err
	}
	kind, err := parseKind(b.Kind)
	if err != nil {
		return Record{}, err
	}
	if kind == KindFact && b.Fact == nil {
		return Record{}, errors.New("a fact without its statement")
	}
	recorded := id.time()
	r := Record{
		ID: b.ID, Kind: kind, Origin: parseOrigin(b.Origin), Namespace: namespace, Scope: shared.Scope, Text: b.Text,
		Source: Source{
			Client: shared.Client, Run: shared.Run, Conversation: shared.Conversation, Turn: b.Turn, Role: shared.Role, Speaker: shared.Speaker,
			Tool: b.Tool, File: b.File,
		},
		Said: recorded.Add(-time.Duration(b.Age) * time.Millisecond), Recorded: recorded, Count: max(b.Count, 1), From: b.From, Fact: b.Fact,
		Quarantined: b.Quarantined,
	}
	if b.Recalled > 0 {
		r.Recalled = time.UnixMilli(b.Recalled).UTC()
	}
	return r, nil
}

// passageKey returns the key of a record: a keyed digest of kind, origin, scope and text. Records with the same key are one passage.
func (s *Store) passageKey(r *Record) archive.Key {
	return s.digest(string(r.Kind), string(r.Origin), r.Scope, r.Text)
}

// forgottenKey returns the key under which a forgotten text is recognised when it comes again: a keyed digest that ignores white space.
func (s *Store) forgottenKey(text string) archive.Key {
	return s.digest("forgotten", strings.Join(strings.Fields(text), " "))
}

// digest returns the HMAC of the parts under the store's key. Other parts with the same bytes together have another digest.
func (s *Store) digest(parts ...string) archive.Key {
	h := hmac.New(sha256.New, s.key)
	for _, p := range parts {
		_, _ = h.Write([]byte(p))
		_, _ = h.Write([]byte{0xff}) // in no UTF-8
	}
	return archive.Key(h.Sum(nil)[:len(archive.Key{})])
}

// parseFast parses the body of an episode's line as [Store.encodeRecord] writes it, and sets the fields of b that an index needs. It returns
// false for any other body, which encoding/json has to parse. Strings of b without escapes point into text.
func parseFast(text []byte, b *entryBody) bool {
	rest, ok := bytes.CutPrefix(text, []byte(`{"id":"`))
	if !ok || len(rest) < idLen+2 || rest[idLen] != '"' {
		return false
	}
	for _, c := range rest[:idLen] {
		if (c < '0' || '9' < c) && (c < 'a' || 'z' < c) {
			return false
		}
	}
	b.ID = unsafeString(rest[:idLen])
	rest = rest[idLen+1:]
	for {
		switch {
		case len(rest) < 8 || rest[0] != ',' || rest[1] != '"' || rest[3] != '"' || rest[4] != ':':
			return false
		}
		key := rest[2]
		rest = rest[5:]
		switch key {
		case 'o', 't', 'f':
			if rest[0] != '"' {
				return false
			}
			end := bytes.IndexByte(rest[1:], '"')
			if end < 0 || bytes.IndexByte(rest[1:1+end], '\\') >= 0 {
				return false
			}
			if key == 'o' {
				b.Origin = unsafeString(rest[1 : 1+end])
			}
			rest = rest[end+2:]
		case 'n', 'a', 'c', 'r':
			var n int64
			i := 0
			negative := rest[0] == '-'
			if negative {
				i++
			}
			start := i
			for i < len(rest) && '0' <= rest[i] && rest[i] <= '9' && i < start+18 {
				n = n*10 + int64(rest[i]-'0')
				i++
			}
			if i == start {
				return false
			}
			if negative {
				n = -n
			}
			switch key {
			case 'n':
				b.Turn = int(n)
			case 'a':
				b.Age = n
			case 'c':
				b.Count = int(n)
			case 'r':
				b.Recalled = n
			}
			rest = rest[i:]
		case 'x': // the last one
			if len(rest) < 3 || rest[0] != '"' || rest[len(rest)-2] != '"' || rest[len(rest)-1] != '}' {
				return false
			}
			inner := rest[1 : len(rest)-2]
			if bytes.IndexByte(inner, '\\') < 0 {
				if bytes.IndexByte(inner, '"') >= 0 {
					return false
				}
				b.Text = unsafeString(inner)
				return true
			}
			b.Text = unsafeString(rawjson.Unquote(make([]byte, 0, len(inner)), rest[:len(rest)-1]))
			return true
		default:
			return false
		}
	}
}

// unsafeString returns a string that shares the memory of b.
func unsafeString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
