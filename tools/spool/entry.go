package spool

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/jsonstream"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// The files of an entry. Every file is 0600 in a directory of 0700.
const (
	headFile  = "head" // who and what, written first
	metaFile  = "meta" // how it ended, written last: with it the entry is complete
	textFile  = "text" // all parts, one after the other, as valid UTF-8
	lockName  = "lock" // locked shared by the writer and readers, exclusively for eviction
	spareFile = "spare"
	blockFile = "blocks" // a row for each block, when blocks are the items
)

// spareSize is the size in bytes of a file that is removed when a result ends, so that the ends of the
// tables and the meta file can be written even on a full disk.
const spareSize = 32 << 10

const (
	version    = 1
	maxHeadLen = 2*MaxCall + 16<<10
	maxMetaLen = 64 << 10
)

type head struct {
	Version   int    `json:"version"`
	Handle    string `json:"handle_sha256"`
	Principal string `json:"principal_sha256"`
	Server    string `json:"server"`
	Tool      string `json:"tool"`
	Call      []byte `json:"call,omitempty"`
	ReadOnly  bool   `json:"read_only,omitempty"`
	PageBytes int    `json:"page_bytes"`
	PageItems int    `json:"page_items"`
	Created   int64  `json:"created_ms"`
	// ServerPage is Source.ServerPage.
	ServerPage string `json:"server_page,omitempty"`
}

// meta describes a document that has ended. All offsets are in the text file.
type meta struct {
	Version  int      `json:"version"`
	Shape    Shape    `json:"shape"`
	Items    int64    `json:"items"`
	Pages    int64    `json:"pages"`
	Large    int64    `json:"large"`
	Blocks   int64    `json:"blocks,omitempty"`
	PageName string   `json:"page_file"`
	BigName  string   `json:"large_file"`
	Wrapped  bool     `json:"wrapped,omitempty"`
	PerPage  int      `json:"page_items"`
	DocBegin int64    `json:"document_begin"`
	DocEnd   int64    `json:"document_end"`
	Begin    int64    `json:"begin"`
	Close    int64    `json:"close"`
	Last     int64    `json:"last_end"`
	Keys     []string `json:"keys,omitempty"`
	Depth    int      `json:"depth,omitempty"`
	Stored   int64    `json:"stored"`
	SHA256   string   `json:"sha256"`
	Cut      string   `json:"cut,omitempty"`
	Failed   bool     `json:"failed,omitempty"`
	Part     int      `json:"part"`
	Parts    int      `json:"parts"`
}

// check returns an error if the numbers contradict each other: with such numbers a reader would leave the file or never end.
func (m *meta) check() error {
	ok := m.Version == version && m.DocBegin >= 0 && m.DocBegin <= m.DocEnd && m.DocEnd <= m.Stored &&
		m.Items >= 0 && m.Pages >= 0 && m.Pages <= m.Items && m.Large >= 0 && m.Large <= m.Items && m.Blocks >= 0 &&
		m.Begin >= m.DocBegin && m.Begin <= m.DocEnd && m.Last <= m.DocEnd && m.Close <= m.DocEnd &&
		(m.Close == 0 || m.Close >= m.Last) && (m.Items == 0 || m.Last > m.Begin && m.Pages > 0) &&
		m.PerPage > 0 && m.PerPage <= MaxPageLines && m.Depth >= 0 && m.Depth <= jsonstream.MaxKeys
	switch m.Shape {
	case Array, Object, Lines:
	case Blocks:
		ok = ok && m.Blocks == m.Items
	default:
		ok = false
	}
	if !ok {
		return &errDamaged{metaFile + " contradicts itself"}
	}
	return nil
}

// readHead reads the head of a result; a damaged one is an *errDamaged.
func readHead(root *os.Root, name string) (*head, error) {
	var h head
	if err := readJSON(root, name+"/"+headFile, maxHeadLen, &h); err != nil {
		return nil, err
	}
	if h.Version != version || h.PageBytes < minPageSize || h.PageItems < 1 || h.PageItems > MaxPageItems {
		return nil, &errDamaged{headFile}
	}
	return &h, nil
}

// readMeta reads the meta file of a result. The error is os.ErrNotExist while the result is being written, *errDamaged for invalid
// contents.
func readMeta(root *os.Root, name string) (*meta, error) {
	var m meta
	if err := readJSON(root, name+"/"+metaFile, maxMetaLen, &m); err != nil {
		return nil, err
	}
	return &m, m.check()
}

// readJSON decodes a file of at most maxBytes bytes into into; invalid JSON is an *errDamaged.
func readJSON(root *os.Root, name string, maxBytes int64, into any) error {
	f, err := statefile.OpenIn(root, name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxBytes))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return &errDamaged{fmt.Sprintf("%s: %v", name, err)}
	}
	return nil
}

// writeJSON writes v to a file that appears at once and complete. The file is not synced, and a power cut may lose it: that also ends the
// sessions that have the handles, and a result whose head or meta cannot be read is removed at the next sweep.
func writeJSON(dir *os.Root, name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return atomicfile.Replacement{Root: dir, Name: name, Perm: 0o600, Kept: atomicfile.Volatile, Temporary: name + ".new"}.Write(b)
}
