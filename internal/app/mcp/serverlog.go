package mcp

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// maxServerLog bounds the log of a server, in bytes; the file before it is kept too.
const maxServerLog = 1 << 20

// serverLog writes the standard error of an MCP server into a file, because no client keeps a log of it. What cannot be written is dropped:
// a server must not stop for its log.
type serverLog struct {
	path string

	mu   sync.Mutex
	file *os.File
	size int64
}

// ServerLog returns the log of a server in the state directory, readable by this user alone; nil if there is no such directory. The file is
// made with the first Write.
func ServerLog(app *core.Core, name string) *serverLog {
	state, err := app.Dirs.EnsureState()
	if err != nil {
		return nil
	}
	return &serverLog{path: filepath.Join(state, memories.ServersDir, config.SafeName(name)+".log")}
}

// Write implements [io.Writer]; it never fails.
func (l *serverLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil && l.size+int64(len(p)) > maxServerLog {
		_ = l.file.Close()
		l.file = nil
		_ = os.Rename(l.path, l.path+".1")
	}
	if l.file == nil {
		if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
			return len(p), nil
		}
		if old, err := os.Stat(l.path); err == nil && old.Size()+int64(len(p)) > maxServerLog {
			_ = os.Rename(l.path, l.path+".1")
		}
		f, err := statefile.Open(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return len(p), nil
		}
		l.file, l.size = f, 0
		if at, err := f.Stat(); err == nil {
			l.size = at.Size()
		}
	}
	n, _ := l.file.Write(p)
	l.size += int64(n)
	return len(p), nil
}

// Close closes the file.
func (l *serverLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
