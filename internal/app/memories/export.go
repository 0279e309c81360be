package memories

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/limit"
)

// ExportFormats are the formats that [Memory.Export] writes.
var ExportFormats = []string{"jsonl", "markdown"}

// Export writes the records that a query means, the oldest first: as JSON, one record a line, or as Markdown for people. It returns how many there
// are.
func (m *Memory) Export(ctx context.Context, q Query, format string, to io.Writer) (n int, err error) {
	f, err := q.filter()
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriter(to)
	var write func(memory.Record) error
	switch format {
	case "", "jsonl":
		var line bytes.Buffer
		lines := json.NewEncoder(&line)
		lines.SetEscapeHTML(false)
		write = func(r memory.Record) error {
			line.Reset()
			if err := lines.Encode(r); err != nil {
				return err
			}
			_, err := out.Write(printable.EscapeJSON(line.Bytes()))
			return err
		}
	case "markdown":
		day := ""
		write = func(r memory.Record) error {
			if d := r.Said.Local().Format(time.DateOnly); d != day {
				fmt.Fprintf(out, "%s## %s\n\n", map[bool]string{true: "\n"}[day != ""], d)
				day = d
			}
			_, err := fmt.Fprintln(out, markdownItem(r))
			return err
		}
	default:
		return 0, fmt.Errorf("--format %s: there is no such format; write one of: %s", limit.Short(format, 40), strings.Join(ExportFormats, ", "))
	}
	err = m.eachRecord(ctx, f, func(r memory.Record) error {
		n++
		return write(r)
	})
	return n, cmp.Or(err, out.Flush())
}

// markdownItem returns a record as an item of a list: its kind, origin, time and source, and its words, indented so that no line of them begins
// anything else.
func markdownItem(r memory.Record) string {
	lines := strings.Split(strings.TrimSpace(r.Text), "\n")
	for i := range lines {
		lines[i] = "  " + strings.TrimRight(lines[i], " \r")
	}
	where := slices.DeleteFunc([]string{r.Namespace, r.Source.Client, r.Source.Tool, r.Source.File}, func(s string) bool { return s == "" })
	return fmt.Sprintf("- **%s** of %s, %s (%s)\n\n%s\n", r.Kind, r.Origin, r.Said.Local().Format("15:04"), strings.Join(where, ", "), strings.Join(lines, "\n"))
}
