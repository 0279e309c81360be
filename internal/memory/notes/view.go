package notes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// viewDepth is the depth of directories in a listing.
const viewDepth = 2

// viewPath carries out the command view: it lists a directory, or returns the lines of a note.
func (d *Dir) viewPath(c Command) (string, error) {
	name, err := resolvePath(c.Path)
	if err != nil {
		return "", err
	}
	none := refuse("The path %s does not exist. Please provide a valid path.", c.Path)
	root, err := d.openDir(false)
	if err != nil {
		return "", err
	}
	if root == nil { // nothing was written yet: the directory is empty, and is there
		if name == "." {
			return listingHead(c.Path) + "\n0B\t" + trimSlashes(c.Path), nil
		}
		return "", none
	}
	defer root.Close()
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", none
	case err != nil:
		return "", plainError(c.Path, err)
	case info.IsDir():
		return viewDir(root, name, c.Path)
	}
	text, err := readNote(root, name, c.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", none
	}
	if err != nil {
		return "", err
	}
	return viewFile(c, text)
}

// viewFile returns the lines of a note that the command asks for, with their numbers, and the digest of the note if it asks for that.
func viewFile(c Command, text string) (string, error) {
	lines := strings.Split(text, "\n")
	if len(lines) > maxLines {
		return "", refuse("File %s exceeds maximum line limit of 999,999 lines.", c.Path)
	}
	first := 1
	switch r := c.ViewRange; {
	case len(r) == 0:
	case len(r) != 2:
		return "", refuse("Error: Invalid `view_range` parameter: it has %d numbers. It should be the first and the last line, as [1, 10]", len(r))
	default:
		first = max(1, r[0])
		last := r[1]
		if last == -1 || last > len(lines) {
			last = len(lines)
		}
		if first > len(lines) || last < first {
			return "", refuse("Error: Invalid `view_range` parameter: [%d, %d]. It should be within the range of lines of the file: [1, %d]", r[0], r[1], len(lines))
		}
		lines = lines[first-1 : last]
	}
	answer := fmt.Sprintf("Here's the content of %s with line numbers:\n", c.Path) + numberedLines(lines, first)
	if c.WithSHA256 {
		answer += "\ncontent_sha256: " + digest(text)
	}
	return answer, nil
}

// numberedLines returns lines with their numbers, padded to six columns, and a tab. first is the number of the first line.
func numberedLines(lines []string, first int) string {
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%6d\t%s", first+i, line)
	}
	return b.String()
}

// listingHead returns the first line of a directory's listing.
func listingHead(notePath string) string {
	return fmt.Sprintf("Here're the files and directories up to 2 levels deep in %s, excluding hidden items and node_modules:", notePath)
}

// viewDir returns the listing of a directory with the sizes of its files. What cannot be read is missing in it.
func viewDir(root *os.Root, name, notePath string) (string, error) {
	var b strings.Builder
	total := walkSizes(root, name, trimSlashes(notePath), 1, &b)
	return listingHead(notePath) + "\n" + humanSize(total) + "\t" + trimSlashes(notePath) + b.String(), nil
}

// walkSizes writes a line for each entry down to viewDepth, in order, and returns the size of all files below. A directory's line ends with
// a slash and has the size of its contents. Hidden files, node_modules and temporary files are neither listed nor counted.
func walkSizes(root *os.Root, name, at string, depth int, b *strings.Builder) (total int64) {
	dir, err := fs.ReadDir(root.FS(), name)
	if err != nil {
		return 0
	}
	for _, e := range dir {
		if strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" || isTemporary(e.Name()) {
			continue
		}
		line := at + "/" + e.Name()
		switch {
		case e.IsDir() && depth > MaxDepth:
		case e.IsDir():
			var inner strings.Builder
			n := walkSizes(root, path.Join(name, e.Name()), line, depth+1, &inner)
			total += n
			if depth <= viewDepth {
				b.WriteString("\n" + humanSize(n) + "\t" + line + "/")
			}
			if depth < viewDepth {
				b.WriteString(inner.String())
			}
		case e.Type().IsRegular():
			info, err := e.Info()
			if err != nil {
				continue
			}
			total += info.Size()
			if depth <= viewDepth {
				b.WriteString("\n" + humanSize(info.Size()) + "\t" + line)
			}
		}
	}
	return total
}

// humanSize returns a number of bytes as the memory tool's documentation writes it: 5.5K, 1.2M, and without a fraction if that is zero.
func humanSize(n int64) string {
	if n <= 0 {
		return "0B"
	}
	units := "BKMG"
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v /= 1024
		i++
	}
	if v == float64(int64(v)) {
		return strconv.FormatInt(int64(v), 10) + units[i:i+1]
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + units[i:i+1]
}
