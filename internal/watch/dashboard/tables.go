package dashboard

import "context"

// Kind says what the cells of a column hold. The zero value is text on one line.
type Kind string

// Kinds of columns, each with what its cells hold.
const (
	Text     Kind = ""
	Wide     Kind = "wide"     // text that may take several lines
	Code     Kind = "code"     // text, in a fixed width
	State    Kind = "state"    // a word, coloured by what it says where it is one that package runs knows
	RunID    Kind = "run"      // the ID of a run, which leads to its page; "" is none
	Time     Kind = "time"     // a time.Time
	Count    Kind = "count"    // a number
	Bytes    Kind = "bytes"    // a size in bytes
	Tokens   Kind = "tokens"   // a number of tokens
	Duration Kind = "duration" // a number of milliseconds
)

// Column is the head of a column.
type Column struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind,omitempty"`
}

// MaxTableRows bounds the rows of one table; further ones are counted.
const MaxTableRows = 500

// Table is a table of a page. It is not safe for use by several goroutines at once.
type Table struct {
	// Title stands over the table, and is its name for screen readers.
	Title string `json:"title"`
	// Note describes the table below its title; "" for none.
	Note    string   `json:"note,omitempty"`
	Columns []Column `json:"columns"`
	// Empty is shown in place of a table without rows; "" leaves the whole table out.
	Empty   string  `json:"empty,omitempty"`
	Rows    [][]any `json:"rows"`
	LeftOut int     `json:"left_out,omitempty"`
}

// Cell is a cell with a line of text below its value.
type Cell struct {
	Value any    `json:"value"`
	Note  string `json:"note,omitempty"`
}

// Add appends a row: a value or a [Cell] for each column. nil and missing cells are shown as a dash. Beyond MaxTableRows it only counts the
// row in LeftOut.
func (t *Table) Add(cells ...any) {
	if len(t.Rows) >= MaxTableRows {
		t.LeftOut++
		return
	}
	t.Rows = append(t.Rows, cells)
}

// TablesPage returns a page of tables, which needs no script. read returns them when somebody opens it and every three seconds while it is
// looked at. For things that a plane keeps, in internal/app/watch (pages.go there has some):
//
//	var morePages = []func(source) (dashboard.Page, bool){ …, thingsPage } // its place in the menu
//
//	func thingsPage(s source) (dashboard.Page, bool) { // false leaves it out
//		return dashboard.TablesPage("things", "Things", func(ctx context.Context) ([]*dashboard.Table, error) {
//			t := &dashboard.Table{Title: "Things", Empty: "Nothing is kept yet: plimsoll things add", Columns: []dashboard.Column{
//				{Name: "Recorded", Kind: dashboard.Time}, {Name: "Text", Kind: dashboard.Wide}, {Name: "Run", Kind: dashboard.RunID},
//			}}
//			list, err := things.List(s.core.Dirs) // reads, and waits for nobody
//			for _, one := range list {
//				t.Add(one.Recorded, one.Text, one.Run)
//			}
//			return []*dashboard.Table{t}, err
//		}), true
//	}
//
// The content of a cell is only ever text, whoever wrote it; a [Kind] selects its form, and [Cell] puts a line of words below it. A table has
// [MaxTableRows] rows, and counts the others. What tables cannot show takes a [Page] with a script of its own (slots.go there).
func TablesPage(name, title string, read func(context.Context) ([]*Table, error)) Page {
	return Page{Name: name, Title: title, Data: func(ctx context.Context) (any, error) {
		list, err := read(ctx)
		if list == nil {
			list = []*Table{}
		}
		for _, t := range list {
			if t.Rows == nil {
				t.Rows = [][]any{}
			}
		}
		return struct {
			Tables []*Table `json:"tables"`
		}{list}, err
	}}
}
