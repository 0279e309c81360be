package tasklog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// A task's file is a line that names the format, the CRC-32C of the rest in hexadecimal and
// the length of the rest in bytes, so that a file that was cut or went on too long is told
// from a whole one; then a line of JSON with what the store knows; then the body.
//
//	plimsoll-task 1 1a2b3c4d 00000000000000000123\n
//	{"id":…}\n
//	{…
const (
	firstLine   = "plimsoll-task 1 %08x %020d\n"
	firstLength = len("plimsoll-task 1 ") + 8 + 1 + 20 + 1
	// fileBytes bounds a file beside its body: four names, each byte of which JSON
	// may write as six, and numbers.
	fileBytes = 4*6*MaxName + 1024
)

// errDamaged is wrapped by the errors of decode.
var errDamaged = errors.New("damaged")

// taskHeader is the second line of a file.
type taskHeader struct {
	ID      string    `json:"id"`
	Context string    `json:"context,omitempty"`
	Owner   string    `json:"owner,omitempty"`
	State   string    `json:"state,omitempty"`
	Ended   bool      `json:"ended,omitempty"`
	Time    time.Time `json:"time,omitzero"`
	Seq     uint64    `json:"seq,omitempty"`
	Version int64     `json:"version"`
	Changed int64     `json:"changed_ns"`
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// keyOf returns the name of a task's file without its extension: a digest of the id, which comes from outside and may be any text.
func keyOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

func encode(t *Task) ([]byte, error) {
	line, err := json.Marshal(taskHeader{
		ID: t.ID, Context: t.Context, Owner: t.Owner, State: t.State, Ended: t.Ended,
		Time: t.Time, Seq: t.Seq, Version: t.Version, Changed: t.Changed.UnixNano(),
	})
	if err != nil {
		return nil, fmt.Errorf("task %q: %w", clip(t.ID), err) // a year beyond 9999
	}
	raw := make([]byte, firstLength, firstLength+len(line)+1+len(t.Body))
	raw = append(append(append(raw, line...), '\n'), t.Body...)
	return seal(raw), nil
}

// seal fills in the first line of a file, for which there is room at the beginning of raw, and returns raw.
func seal(raw []byte) []byte {
	rest := raw[firstLength:]
	copy(raw, fmt.Sprintf(firstLine, checksum(rest), len(rest)))
	return raw
}

// decode parses the file of a task. Its Body shares the memory of raw. Errors wrap errDamaged.
func decode(raw []byte) (Task, error) {
	fail := func(what string) (Task, error) { return Task{}, fmt.Errorf("%w: %s", errDamaged, what) }
	if len(raw) < firstLength {
		return fail("the file is cut in its first line")
	}
	rest := raw[firstLength:]
	if string(raw[:firstLength]) != fmt.Sprintf(firstLine, checksum(rest), len(rest)) {
		return fail("the first line does not fit the rest")
	}
	line, body, found := bytes.Cut(rest, []byte("\n"))
	var a taskHeader
	if err := json.Unmarshal(line, &a); err != nil || !found {
		return fail("the second line is not what a task has")
	}
	t := Task{
		ID: a.ID, Context: a.Context, Owner: a.Owner, State: a.State, Ended: a.Ended,
		Time: a.Time, Seq: a.Seq, Body: body, Version: a.Version, Changed: time.Unix(0, a.Changed),
	}
	if err := t.check(); err != nil || a.Version < 1 {
		return fail("the second line is not what a task has")
	}
	return t, nil
}
