package bridge

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestTable holds docs/bridge.md to the code: every row has a test of its name, no test is without a row, and all of them run.
func TestTable(t *testing.T) {
	rows := tableRows(t)
	if len(rows) < 30 {
		t.Fatalf("only %d rows were found", len(rows))
	}
	for _, row := range rows {
		test := upTests[row.name]
		if test == nil {
			t.Errorf("the row %q has no test", row.name)
			continue
		}
		if len(row.says) < 10 {
			t.Errorf("the row %q says nothing", row.name)
		}
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
	for name := range upTests {
		if !slices.ContainsFunc(rows, func(r tableRow) bool { return r.name == name }) {
			t.Errorf("the test %q has no row", name)
		}
	}
}

type tableRow struct{ name, says string }

// tableRows reads the rows between the marks of the table.
func tableRows(t *testing.T) []tableRow {
	f, err := os.Open("../../../../docs/bridge.md")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var rows []tableRow
	in := false
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		switch {
		case strings.HasPrefix(line, "| feature |"):
			in = true
		case in && strings.HasPrefix(line, "|---"):
		case in && strings.HasPrefix(line, "|"):
			cells := strings.Split(strings.Trim(line, "|"), "|")
			if len(cells) != 2 {
				t.Errorf("a row of %d cells: %s", len(cells), line)
				continue
			}
			rows = append(rows, tableRow{strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1])})
		default:
			in = false
		}
	}
	return rows
}
