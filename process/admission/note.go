package admission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/limit"
)

// Bounds of a claim's file in the shared directory.
const (
	noteSize    = 1024             // bytes, fixed, so that one write replaces it
	maxNote     = 4096             // bytes that are read of one
	maxNoteTool = 64               // bytes of a tool's name
	maxReserved = 1024 * limit.TiB // what claims more is no claim
)

// note is the content of a claim's file in the shared directory: what other users
// need for the sum and no more. It has no project and no command line.
type note struct {
	Schema      int         `json:"schema"`
	Boot        string      `json:"boot"`
	UID         int         `json:"uid"`
	ID          string      `json:"id"`
	Tool        string      `json:"tool"`
	Reservation limit.Bytes `json:"reservation_bytes"`
	Current     limit.Bytes `json:"current_bytes"`
	Since       time.Time   `json:"since"`
}

// noteName is the name of a claim's file: BOOT.UID.ID.claim, or BOOT.UID.ID.new until the file is filled and locked. Boot and ID have no
// dot.
type noteName struct {
	boot  string
	uid   int
	id    string
	draft bool
}

// String returns the name of the file.
func (n noteName) String() string {
	end := ".claim"
	if n.draft {
		end = ".new"
	}
	return n.boot + "." + strconv.Itoa(n.uid) + "." + n.id + end
}

// parseNoteName reads the name of a claim's file; ok is false for a name that [noteName.String] does not make.
func parseNoteName(name string) (n noteName, ok bool) {
	parts := strings.Split(name, ".")
	if len(parts) != 4 || !ValidID(parts[0]) || !ValidID(parts[2]) {
		return noteName{}, false
	}
	uid, err := strconv.ParseUint(parts[1], 10, 32)
	if err != nil {
		return noteName{}, false
	}
	n = noteName{boot: parts[0], uid: int(uid), id: parts[2], draft: parts[3] == "new"}
	return n, n.String() == name
}

// parseNote reads a claim's file. It is an error when the content is not about the claim in its name, or has impossible sizes.
func parseNote(text []byte, name noteName) (note, error) {
	var n note
	if err := json.Unmarshal(text, &n); err != nil {
		return note{}, err
	}
	switch {
	case n.Schema != schema:
		return note{}, fmt.Errorf("schema %d", n.Schema)
	case n.Boot != name.boot || n.UID != name.uid || n.ID != name.id:
		return note{}, errors.New("its content is about another claim than its name")
	case n.Reservation < 0 || n.Current < 0:
		return note{}, errors.New("a negative size")
	case n.Reservation > maxReserved:
		return note{}, fmt.Errorf("it claims %s", n.Reservation.Human())
	}
	n.Tool = cleanTool(n.Tool)
	return n, nil
}

// encode returns the note as JSON, padded with spaces to noteSize bytes.
func (n note) encode() ([]byte, error) {
	text, err := json.Marshal(n)
	if err == nil && len(text) >= noteSize {
		err = fmt.Errorf("the claim takes %d bytes, more than %d", len(text), noteSize)
	}
	if err != nil {
		return nil, err
	}
	text = append(text, bytes.Repeat([]byte{' '}, noteSize-1-len(text))...)
	return append(text, '\n'), nil
}

// cleanTool returns s as it may be printed on another user's terminal: other characters become "?", it has at most maxNoteTool bytes, and ""
// becomes "unknown".
func cleanTool(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
	if s == "" {
		return "unknown"
	}
	return limit.Clip(s, maxNoteTool)
}

// toHolder returns the claim as a [Holder] of another ledger.
func (n note) toHolder(now time.Time) Holder {
	since := n.Since
	if since.After(now) {
		since = now
	}
	return Holder{
		ID: n.ID, State: Holding, Tool: n.Tool, User: userName(n.UID),
		Reservation: n.Reservation, Current: n.Current, Owner: Owner{Boot: n.Boot}, Since: since,
	}
}

// users stores the names of users by uid: a waiting run asks several times a second.
var users struct {
	sync.Mutex
	names map[int]string
}

// maxUsers bounds users.names, which starts afresh then.
const maxUsers = 1024

// userName returns the name of a user, or "uid N" when it cannot be found.
func userName(uid int) string {
	users.Lock()
	defer users.Unlock()
	if name, ok := users.names[uid]; ok {
		return name
	}
	name := "uid " + strconv.Itoa(uid)
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil && u.Username != "" {
		name = cleanTool(u.Username)
	}
	if users.names == nil || len(users.names) >= maxUsers {
		users.names = map[int]string{}
	}
	users.names[uid] = name
	return name
}
