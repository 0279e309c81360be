// Package archive keeps entries of memory in segments on disk that many processes write to at once. It knows nothing of what an entry says.
//
//	err = a.Append(ctx, "project/x", false, archive.Line{Body: []byte(`{"x":"…"}`)})
//	found, err := a.Read("project/x", &at, func(p archive.Position, l archive.Line) error { … }) // and again: what is new
//
// A writer locks a segment for one append and takes another one when somebody else has it: nobody waits. Readers take no lock. A process that
// is killed loses at most the entry that it was writing, which the next writer cuts off ([Archive.Torn]); a wrong byte costs its own line and
// no other. [Archive.Rewrite] writes a segment's next generation beside it, renames it, and removes the old one: of two only the newer counts.
//
// An open archive holds a few hundred bytes for each namespace that it has written to. Files are 0600 and below the directory ([os.Root]).
package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/diskspace"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

// DefaultSegmentBytes is the size at which a segment ends and the next one begins.
const DefaultSegmentBytes = 4 * limit.MiB

// Options configure an [Archive]. Dir is required.
type Options struct {
	Dir          string      // made when it is missing, 0700
	SegmentBytes limit.Bytes // (DefaultSegmentBytes)
	// TooLarge is called once for each segment that is larger than any this program writes, with the bytes that are read of it. It may be nil.
	TooLarge func(file string, size, read limit.Bytes)
}

// maxReadable returns how many bytes of a segment are read at most: four times its size, because a batch of lines may pass SegmentBytes by a line,
// and a rewritten segment may grow. The rest, such as the hole of a file that somebody made longer, would take minutes to read; the next rewrite
// leaves it out.
func (a *Archive) maxReadable() int64 { return 4 * int64(max(a.o.SegmentBytes, DefaultSegmentBytes)) }

// ErrClosed is the error of an archive that was closed.
var ErrClosed = errors.New("the archive is closed")

// Archive is a directory with a folder of segments for each namespace. Its methods may be called from any goroutine, and other
// processes may have the same directory open.
//
// A folder has a digest of the namespace as its name, which stands in the file "namespace" and at the head of each segment. A segment ends at
// 4 MiB and is lines: the length and the CRC-32C of a JSON text, and that text.
//
//	0000009c 3c1d09aa {"k":"q0rX2m…","r":"Zb1x09aQ","b":{…}}
//
// k is the entry's key, b its body. What many entries have in common is written out as s in the first two entries of a segment that have it;
// in the others its digest r stands for it.
type Archive struct {
	o    Options
	root *os.Root

	mu      sync.Mutex // guards what follows
	closed  bool
	folders map[string]*folder // by namespace
	large   map[string]bool    // segments of which Options.TooLarge was told

	torn atomic.Int64
}

// folder is the directory with the lines of a namespace.
type folder struct {
	namespace string
	dir       string // its name below the root
	mu        sync.Mutex
	current   string          // the segment that was written last; "" before
	defined   map[ref]int     // how often its shared texts were written out by this process
	prepared  bool            // the folder and its name exist
	volatile  map[string]bool // segments that were written and not synced
}

// Open opens the archive in a directory and makes it when it is missing.
func Open(o Options) (*Archive, error) {
	if o.Dir == "" {
		return nil, errors.New("an archive needs a directory; set Options.Dir")
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = DefaultSegmentBytes
	}
	if o.SegmentBytes < 4*limit.KiB {
		return nil, fmt.Errorf("%s is no size for a segment; set SegmentBytes to 4K or more", o.SegmentBytes)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("directory of memory: %w", err)
	}
	root, err := statefile.OpenRoot(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("directory of memory: %w", err)
	}
	return &Archive{o: o, root: root, folders: map[string]*folder{}, large: map[string]bool{}}, nil
}

// Root returns the directory, for small files of the caller that belong to it. Close closes it.
func (a *Archive) Root() *os.Root { return a.root }

// Torn returns the number of lines, left unfinished by dead processes, that this Archive has cut off.
func (a *Archive) Torn() int64 { return a.torn.Load() }

// Close syncs what was written and not synced yet, and ends the use of the archive.
func (a *Archive) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	a.closed = true
	var failed error
	for _, f := range a.folders {
		f.mu.Lock()
		failed = errors.Join(failed, a.syncVolatile(f))
		f.mu.Unlock()
	}
	return errors.Join(failed, a.root.Close())
}

// nameFile is the name of the file in each folder that holds the folder's namespace.
const nameFile = "namespace"

// FolderName returns the name of a namespace's folder: a digest, because a namespace may be any text, unlike the name of a file.
func FolderName(namespace string) string {
	sum := sha256.Sum256([]byte(namespace))
	return hex.EncodeToString(sum[:16])
}

// folderOf returns the state of a namespace's folder, new if there is none; the error is [ErrClosed]. It touches no file.
func (a *Archive) folderOf(namespace string) (*folder, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, ErrClosed
	}
	f := a.folders[namespace]
	if f == nil {
		f = &folder{namespace: namespace, dir: FolderName(namespace), defined: map[ref]int{}, volatile: map[string]bool{}}
		a.folders[namespace] = f
	}
	return f, nil
}

// makeFolder makes the folder and writes its name file, if they do not exist. The caller holds f.mu.
func (a *Archive) makeFolder(f *folder) error {
	if f.prepared {
		return nil
	}
	if err := a.root.Mkdir(f.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return a.wrapError("make a folder for", err)
	}
	name := path.Join(f.dir, nameFile)
	if _, err := a.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		if err := (atomicfile.Replacement{Root: a.root, Name: name, Perm: 0o600, Kept: atomicfile.Durable}).Write([]byte(f.namespace)); err != nil {
			return a.wrapError("name a folder for", err)
		}
	}
	f.prepared = true
	return nil
}

// Namespaces returns the namespaces that have a folder, sorted.
func (a *Archive) Namespaces() ([]string, error) {
	if _, err := a.folderOf(""); err != nil {
		return nil, err
	}
	dir, err := a.root.Open(".")
	if err != nil {
		return nil, a.wrapError("list", err)
	}
	defer dir.Close()
	var out []string
	for {
		names, err := dir.Readdirnames(256)
		for _, name := range names {
			if namespace, ok := a.namespaceOf(name); ok {
				out = append(out, namespace)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			slices.Sort(out)
			return out, nil
		case err != nil:
			return nil, a.wrapError("list", err)
		}
	}
}

// namespaceOf returns the namespace of a folder, read from its name file or, when that is damaged, from the head of a segment; else false.
func (a *Archive) namespaceOf(dir string) (string, bool) {
	if len(dir) != 32 {
		return "", false
	}
	if f, err := statefile.OpenIn(a.root, path.Join(dir, nameFile), os.O_RDONLY, 0); err == nil {
		text, err := io.ReadAll(io.LimitReader(f, 4<<10))
		_ = f.Close()
		if err == nil && FolderName(string(text)) == dir {
			return string(text), true
		}
	}
	segments, err := a.currentSegments(dir)
	if err != nil {
		return "", false
	}
	for _, s := range segments {
		if h, err := a.readHead(dir, s.Name); err == nil && FolderName(h.Namespace) == dir {
			return h.Namespace, true
		}
	}
	return "", false
}

// head is the first line of a segment.
type head struct {
	Format    string `json:"format"`
	Version   int    `json:"version"`
	Namespace string `json:"namespace"`
}

const (
	format  = "plimsoll-memory"
	version = 1
)

// headLine returns the first line of each segment of a namespace, as it stands on disk.
func headLine(namespace string) ([]byte, error) {
	body, err := json.Marshal(head{Format: format, Version: version, Namespace: namespace})
	if err != nil {
		return nil, err
	}
	return appendLine(nil, Line{Body: body}, false), nil
}

// ErrNewer is the error of a segment that a newer version has written. It is left alone.
var ErrNewer = errors.New("was written by a newer version of this program; use that one, or another directory")

// parseHead reads the first line of a segment. It returns false when the body is not a head.
func parseHead(body []byte) (head, bool) {
	var h head
	if err := json.Unmarshal(body, &h); err != nil || h.Format != format {
		return head{}, false
	}
	return h, true
}

// wrapError returns err with what was being done to the memory, its directory, and what a person can do about it.
func (a *Archive) wrapError(action string, err error) error {
	return fmt.Errorf("%s the memory in %s: %w; %s", action, a.o.Dir, err, NextStep(a.o.Dir, err))
}

// NextStep returns, as an advice to a person, what can be done about an error in writing to a directory: make room, or check permissions.
func NextStep(dir string, err error) string {
	if diskspace.IsFull(err) {
		return "make room on the disk of " + dir
	}
	return "see that " + dir + " can be written"
}

// contextCause returns the reason why a context ended, or nil.
func contextCause(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
