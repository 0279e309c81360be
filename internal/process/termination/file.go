package termination

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

// MaxMessage bounds the part of a termination message that is shown, in bytes: the kubelet reads the last 4,096 of the file
// (https://kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure/).
const MaxMessage = 4096

// own begins every text of Plimsoll's.
const own = "plimsoll: "

// errForeign reports that the container's program has written a message of its own.
var errForeign = errors.New("the container's program has written a message of its own, which stays")

// message is the file while it is open.
type message struct{ file *os.File }

// replace makes text the whole content of the file, cut to MaxMessage; if somebody else has written into the file, it returns errForeign instead. A
// reader at the same time, or after this process was killed in between, sees the old text, or the new one followed by empty lines.
func (m message) replace(text string) error {
	old := make([]byte, MaxMessage)
	n, err := m.file.ReadAt(old, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	old = old[:n]
	if len(bytes.TrimSpace(old)) > 0 && !bytes.HasPrefix(old, []byte(own)) {
		return errForeign
	}
	text = limit.Short(strings.TrimRight(text, "\n"), MaxMessage-1) + "\n"
	body := []byte(text)
	for len(body) < n {
		body = append(body, '\n')
	}
	if _, err := m.file.WriteAt(body, 0); err != nil {
		return err
	}
	return m.file.Truncate(int64(len(text)))
}

// clearOwn takes out what an earlier start of ours has left. A text of the program's stays.
func (m message) clearOwn() error {
	old := make([]byte, len(own))
	if n, _ := m.file.ReadAt(old, 0); string(old[:n]) != own {
		return nil
	}
	return m.file.Truncate(0)
}

const (
	// DefaultPath is the path at which Kubernetes mounts the termination message of a container (terminationMessagePath).
	DefaultPath = "/dev/termination-log"
	// Variable names another file, or "off".
	Variable = "PLIMSOLL_TERMINATION_LOG"
	// Off in Variable keeps Plimsoll from writing it.
	Off = "off"
)

// Path returns the file to write: what [Variable] names, else [DefaultPath] where that is a regular file, as only a container has it. ""
// is none. The error says that the variable names something that cannot be one.
func Path(getenv func(string) string) (string, error) {
	switch named := getenv(Variable); {
	case named == Off:
		return "", nil
	case named != "":
		if !filepath.IsAbs(named) {
			return "", fmt.Errorf("%s is not the absolute path of a file; write it as in %s, or off", Variable, DefaultPath)
		}
		return named, nil
	}
	if info, err := os.Lstat(DefaultPath); err != nil || !info.Mode().IsRegular() {
		return "", nil
	}
	return DefaultPath, nil
}

// openMessage opens the file, and creates it if its directory exists. A link, a device or anything else that is not a regular file is refused, as it
// would lead elsewhere.
func openMessage(path string) (*os.File, error) {
	f, err := statefile.Open(path, os.O_RDWR|os.O_CREATE, 0o644)
	if errors.Is(err, statefile.ErrNotRegular) {
		return nil, fmt.Errorf("%s is no regular file; name another with %s, or off", path, Variable)
	}
	if err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err
		}
		return nil, fmt.Errorf("%s cannot be written to: %w; name another file with %s, or off", path, err, Variable)
	}
	return f, nil
}

const (
	// named bounds the processes that are named.
	named = 8
	// maxReason and maxName bound, in bytes, what others say: all of it together stays below [MaxMessage].
	maxReason = 1500
	maxInner  = 300
	maxName   = 64
)

// sight holds the use of memory seen at one moment.
type sight struct {
	at        time.Time
	group     group
	used      limit.Bytes // without what is given back before anybody is killed
	inMemory  limit.Bytes // files
	processes []proc      // the largest first
}

// percent returns the use as a part of the limit; 0 without a limit.
func (s sight) percent() int {
	if s.group.limit <= 0 {
		return 0
	}
	return int(100 * float64(s.used) / float64(s.group.limit))
}

// describeLargest returns the largest process in words; "" when none was seen.
func (s sight) describeLargest() string {
	if len(s.processes) == 0 {
		return ""
	}
	return s.processes[0].String()
}

// String returns the name, the pid and the memory of the process for a person.
func (p proc) String() string {
	return fmt.Sprintf("%s (pid %d) with %s", printable.Name(limit.Short(p.name, maxName)), p.pid, p.held.Human())
}

// formatMessage returns the text of the file. high is the sight, the highest one when the use has fallen since, and now the one after that; inner are
// the limits inside the container in words, reason why the program has ended, both "" for none.
func formatMessage(high sight, now *sight, inner, reason string) string {
	var b strings.Builder
	b.WriteString(own)
	if reason != "" {
		b.WriteString(strings.TrimPrefix(limit.Short(printable.Text(reason), maxReason), own))
		if high.at.IsZero() {
			return b.String()
		}
		b.WriteString("\n\n")
	}
	of := fmt.Sprintf("%d %% of its memory, %s of %s", high.percent(), high.used.Human(), high.group.limit.Human())
	if now == nil {
		fmt.Fprintf(&b, "this container uses %s. If it was OOMKilled, this is why.\n", of)
	} else {
		fmt.Fprintf(&b, "this container has used %s, and uses %d %% since %s.\n", of, now.percent(), now.at.UTC().Format(time.RFC3339))
	}
	fmt.Fprintf(&b, "Seen at %s, limit %s in %s.\n", high.at.UTC().Format(time.RFC3339), high.group.limitFile(), limit.Short(printable.Name(high.group.dir), 2*maxName))
	b.WriteString("What takes it:\n")
	rest, others := limit.Bytes(0), 0
	for i, p := range high.processes {
		if i < named {
			fmt.Fprintf(&b, "  %s\n", p)
			continue
		}
		rest += p.held
		others++
	}
	switch {
	case len(high.processes) == 0:
		b.WriteString("  its processes could not be seen\n")
	case others > 0:
		fmt.Fprintf(&b, "  %d others with %s\n", others, rest.Human())
	}
	if high.inMemory >= limit.MiB {
		fmt.Fprintf(&b, "  files in memory (/dev/shm, tmpfs, volumes of medium Memory) with %s\n", high.inMemory.Human())
	}
	if inner != "" {
		fmt.Fprintf(&b, "Limits inside: %s.\n", limit.Short(printable.Name(inner), maxInner))
	}
	fmt.Fprintf(&b, "What to do: raise resources.limits.memory of this container (half as much again is %dMi), or let it do less at once. "+
		"At the limit the kernel ends every process of the container, not only the largest.\n", toMebibytes(high.group.limit*3/2))
	return b.String()
}

// toMebibytes returns a size in MiB, rounded up.
func toMebibytes(b limit.Bytes) int64 { return int64((b + limit.MiB - 1) / limit.MiB) }
