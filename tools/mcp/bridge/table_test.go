package bridge

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// TestTable holds docs/bridge.md to the code: every row has a test of its name for each
// direction, no test is without a row, and all of them run.
func TestTable(t *testing.T) {
	rows := tableRows(t)
	if len(rows) < 30 {
		t.Fatalf("only %d rows were found", len(rows))
	}
	directions := []struct {
		name  string
		tests map[string]func(*testing.T)
	}{
		{"modern client, older server", downTests},
		{"older client, modern server", upTests},
	}
	for i, d := range directions {
		for _, row := range rows {
			test := d.tests[row.name]
			if test == nil {
				t.Errorf("the row %q has no test for: %s", row.name, d.name)
				continue
			}
			if len(row.cells[i]) < 10 {
				t.Errorf("the row %q says nothing for: %s", row.name, d.name)
			}
			t.Run(row.name+"/"+d.name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
		for name := range d.tests {
			if !hasRow(rows, name) {
				t.Errorf("the test %q has no row", name)
			}
		}
	}
}

type tableRow struct {
	name  string
	cells [2]string
}

func hasRow(rows []tableRow, name string) bool {
	for _, r := range rows {
		if r.name == name {
			return true
		}
	}
	return false
}

// tableRows reads the rows between the marks of the table.
func tableRows(t *testing.T) []tableRow {
	f, err := os.Open("../../../docs/bridge.md")
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
			if len(cells) != 3 {
				t.Errorf("a row of %d cells: %s", len(cells), line)
				continue
			}
			rows = append(rows, tableRow{strings.TrimSpace(cells[0]), [2]string{strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])}})
		default:
			in = false
		}
	}
	return rows
}
