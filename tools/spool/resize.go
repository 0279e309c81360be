package spool

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
)

// maxResized bounds the tables for other page sizes that are kept on the disk for one result. For further sizes the table is made again by
// each reader.
const maxResized = 4

// leastKept is the size of document, in bytes, from which on such a table is kept on the disk: making it again for a smaller one takes
// milliseconds.
const leastKept = 1 << 20

// newTemporaryTable returns a table in a file whose name begins with name and which disappears once it is closed.
func newTemporaryTable(dir *os.Root, name string) *table {
	return &table{dir: dir, name: name + rand.Text(), passing: true}
}

// tableOfSize returns a page table with size items per page. It is made by reading the document once, and kept on the disk for later
// readers. The caller holds r.mu.
func (r *Result) tableOfSize(ctx context.Context, v *view, size int) (*table, error) {
	if t := r.made[size]; t != nil {
		return t, nil
	}
	name := fmt.Sprintf("pages.of.%d", size)
	t := r.openTable(v, name)
	if t == nil {
		rules := v.rules
		rules.items = size
		p := &paging{rules: rules, dir: r.dir, begin: v.m.Begin, end: v.m.Begin}
		p.pages, p.large = newTemporaryTable(r.dir, "resized."), &table{null: true}
		p.pages.passing = v.m.DocEnd-v.m.DocBegin < leastKept
		err := r.repage(ctx, v, p, v.large)
		if err == nil {
			err = r.s.full(p.pages.flush())
		}
		if !p.pages.passing && p.pages.file != nil && (err != nil || !r.keepTable(p.pages, name)) {
			_ = r.dir.Remove(p.pages.name)
		}
		if err != nil {
			p.pages.close()
			return nil, err
		}
		t = p.pages
	}
	if r.made == nil {
		r.made = map[int]*table{}
	}
	r.made[size] = t // there are at most MaxPageLines sizes
	return t, nil
}

// openTable opens a table that an earlier reader has kept; nil if there is none or it is damaged.
func (r *Result) openTable(v *view, name string) *table {
	info, err := r.dir.Stat(name)
	if err != nil || info.Size() == 0 || info.Size()%rowSize != 0 {
		return nil
	}
	t, err := openTable(r.dir, name, info.Size()/rowSize)
	if err != nil {
		return nil
	}
	last, err := t.get(t.count - 1)
	if err != nil || last[0] >= v.m.Items || v.m.Items-last[0] > MaxPageLines {
		t.close()
		_ = r.dir.Remove(name)
		return nil
	}
	return t
}

// keepTable renames a temporary page table to name, so that later readers find it. It returns false if there are maxResized tables already
// or the spool is full; the table stays temporary then.
func (r *Result) keepTable(t *table, name string) bool {
	d, err := r.dir.Open(".")
	if err != nil {
		return false
	}
	names, _ := d.Readdirnames(-1)
	_ = d.Close()
	n := 0
	for _, other := range names {
		if strings.HasPrefix(other, "pages.of.") {
			n++
		}
	}
	if n >= maxResized {
		return false
	}
	err = r.s.withLedger(func(l *ledger) error {
		size := t.count * rowSize
		a := l.find(r.id)
		if a == nil || l.totalBytes()+size > int64(r.s.o.MaxBytes) {
			return os.ErrNotExist
		}
		if err := r.dir.Rename(t.name, name); err != nil {
			return err
		}
		a.bytes, l.changed = a.bytes+size, true
		return nil
	})
	return err == nil
}

// repage adds all items of a document to p. large, if not nil, has the positions of the large ones, which then need not be read.
func (r *Result) repage(ctx context.Context, v *view, p *paging, large *table) error {
	m := v.m
	if m.Items == 0 {
		return nil
	}
	if m.Shape == Blocks {
		for i := range m.Blocks {
			b, err := v.blocks.get(i)
			if err != nil {
				return err
			}
			p.add(b[1], b[2]+1)
			p.end = b[2]
		}
		return p.err()
	}
	from := m.Begin
	if p.isJSON() {
		from++
		p.end = from
	}
	err := walkAll(ctx, r.text, p, from, m.Last, large)
	if err == nil {
		err = p.err()
	}
	if err == nil && p.count != m.Items {
		err = &errDamaged{fmt.Sprintf("%d items, there were %d", p.count, m.Items)}
	}
	return err
}

// rebuildTables makes the tables of a document again from its text. It fails if the text does not have as many pages and large items as
// before. The caller holds r.mu.
func (r *Result) rebuildTables(v *view) error {
	if v.m.Shape == Blocks && v.blocks == nil {
		return &errDamaged{blockFile + " is missing"}
	}
	p := &paging{rules: v.rules, dir: r.dir, begin: v.m.Begin, end: v.m.Begin}
	p.pages, p.large = newTemporaryTable(r.dir, "remade."), newTemporaryTable(r.dir, "remade.")
	if err := r.repage(context.Background(), v, p, nil); err != nil {
		return err
	}
	if p.pages.len() != v.m.Pages || p.large.len() != v.m.Large {
		return &errDamaged{"the text is not what it was"}
	}
	v.close()
	v.pages, v.large = p.pages, p.large
	return nil
}

// maxRows bounds the rows of a table for another page size: 28 MiB. A document with more pages of that size is read again for each of them.
var maxRows int64 = 1 << 20

// exceedsTable reports whether the document may have more than maxRows pages with size items.
func (m *meta) exceedsTable(size int, budget int64) bool {
	return m.Shape != Blocks && m.Items/int64(size)+2*(m.DocEnd-m.DocBegin)/budget > maxRows
}

// findPage finds the rows of page n with size items by reading the document from its beginning. With all it reads everything, and total is
// the number of pages; otherwise it stops when the page is complete. ok is false if there is no such page.
func (s *source) findPage(ctx context.Context, size int, n int64, all bool) (first, next row, total int64, ok bool, err error) {
	rules := s.rules
	rules.items = size
	p := &paging{rules: rules, begin: s.begin, end: s.begin, pages: &table{}, large: &table{null: true}}
	from := s.begin
	if p.isJSON() {
		from++
		p.end = from
	}
	buf := make([]byte, scanBuffer)
	add := func(start, end int64) bool {
		p.add(start, end)
		if p.pages.len() > 0 { // only the rows that matter are kept
			r, e := p.pages.get(0)
			p.pages.drop()
			total++
			if err = e; total == n {
				first = r
			} else if total == n+1 {
				next, ok = r, true
			}
		}
		return (all || !ok) && err == nil
	}
	var walked error
	if p.shape == Lines {
		walked = walkLines(ctx, s.r.text, from, s.end, p.longestLine(), buf, add)
	} else {
		walked = walkJSON(ctx, s.r.text, p.shape == Object, from, s.end, s.large, buf, add)
	}
	if err == nil {
		err = walked
	}
	return first, next, total, ok, err
}

// drop removes all rows of a table that has no file.
func (t *table) drop() {
	t.mu.Lock()
	t.pending, t.count = t.pending[:0], 0
	t.mu.Unlock()
}
