package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
)

// WriteAgentInit writes a table for an agent of this name with every key, its default or an example, and one sentence about it. All keys
// but intro are commented out. An invalid name is an error.
func WriteAgentInit(w io.Writer, name string) error {
	if err := checkAgentName(name); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# An agent of Plimsoll's own. Asked: plimsoll ask --agent %s \"…\". Served over A2A: plimsoll agent serve %s\n[agents.%s]\n", name, name, agentTableName(name))
	b.WriteString("intro = \"You answer questions with the tools that you have.\"\n")
	for _, k := range agentKeys {
		if k.Name == "intro" {
			continue
		}
		value := k.example
		if k.Default != "" {
			value = k.toml(k.Default)
		}
		b.WriteString("\n")
		writeComment(&b, k.Doc)
		fmt.Fprintf(&b, "# %s = %s\n", k.Name, value)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// checkAgentName returns an error unless name can be the name of an agent as it is.
func checkAgentName(name string) error {
	if SafeName(name) != name || name == "" {
		return fmt.Errorf("%s is not the name of an agent; write letters, digits, . _ and -, at most 64, a letter or digit first", quote(name))
	}
	return nil
}

// agentTableName returns a name as it is written in the head of a table: in quotes if it has a dot, which would begin another table.
func agentTableName(name string) string {
	if strings.Contains(name, ".") {
		return `"` + name + `"`
	}
	return name
}

// AddAgent adds a table for an agent at the end of a configuration file, behind a symbolic link too, and makes the file (0600) and its directory
// if there is none. The rest of the file stays as it is. If the file has an agent of this name, the error wraps fs.ErrExist. A file with mistakes
// is an error too, because it cannot be checked for the name, and so is what is not a regular file.
func AddAgent(path, name string) error {
	if err := checkAgentName(name); err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: nothing can be added to it; PLIMSOLL_CONFIG names another", path)
	}
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	mode := fs.FileMode(0o600)
	var b strings.Builder
	if err == nil {
		if fi, err := os.Stat(path); err == nil {
			mode = fi.Mode().Perm()
		}
		if err := Check(path); err != nil {
			return err
		}
		loaded, err := Load(Options{Environ: []string{"PLIMSOLL_CONFIG=" + path}, Dir: string(os.PathSeparator)})
		if err != nil {
			return err
		}
		if _, there, _ := loaded.Agent(name); there {
			return fmt.Errorf("%s: [agents.%s]: %w; edit it, or choose another name", path, agentTableName(name), fs.ErrExist)
		}
		b.Write(old)
		if len(old) > 0 && old[len(old)-1] != '\n' {
			b.WriteByte('\n')
		}
		b.WriteByte('\n')
	}
	if err := WriteAgentInit(&b, name); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(path, []byte(b.String()), mode, atomicfile.Durable)
}
