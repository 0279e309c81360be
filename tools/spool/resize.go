package spool

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
)

// maxResized is how many other page sizes of one result have a table on the disk. Of
// further ones each page is looked for from the beginning.
const maxResized = 4

func passing(dir *os.Root, name string) *table {
	return &table{dir: dir, name: name + rand.Text(), passing: true}
}

// pagesOf gives the page table of another page size, which is made once by reading the
// document and then kept beside it. r.mu is held.
func (r *Result) pagesOf(ctx context.Context, v *view, size int) (*table, error) {
	if t := r.made[size]; t != nil {
		return t, nil
	}
	rules := v.rules
	rules.items = size
	p := &paging{rules: rules, dir: r.dir, begin: v.m.Begin, end: v.m.Begin}
	p.pages = passing(r.dir, "resized.")
	p.large = &table{null: true}
	if err := r.repage(ctx, v, p, v.large); err != nil {
		p.pages.close()
		return nil, err
	}
	if r.made == nil {
		r.made = map[int]*table{}
	}
	r.made[size] = p.pages
	return p.pages, nil
}

// repage puts all items of a document into p.
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
	if p.json() {
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

// remake makes the tables of a document again from its text. r.mu is held.
func (r *Result) remake(v *view) error {
	if v.m.Shape == Blocks && v.blocks == nil {
		return &errDamaged{blockFile + " is missing"}
	}
	p := &paging{rules: v.rules, dir: r.dir, begin: v.m.Begin, end: v.m.Begin}
	p.pages, p.large = passing(r.dir, "remade."), passing(r.dir, "remade.")
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

// locate looks for page n of another size in what has come so far.
func (s *source) locate(ctx context.Context, size int, n int64) (first, next row, ok bool, err error) {
	rules := s.rules
	rules.items = size
	p := &paging{rules: rules, begin: s.begin, end: s.begin, pages: &table{}, large: &table{null: true}}
	from := s.begin
	if p.json() {
		from++
		p.end = from
	}
	seen, buf := int64(0), make([]byte, scanBuffer)
	add := func(start, end int64) bool {
		p.add(start, end)
		if p.pages.len() > 0 { // only the rows that matter are kept
			r, e := p.pages.get(0)
			p.pages.drop()
			seen++
			if err = e; seen == n {
				first = r
			} else if seen == n+1 {
				next, ok = r, true
			}
		}
		return !ok && err == nil
	}
	var walked error
	if p.shape == Lines {
		walked = walkLines(ctx, s.r.text, from, s.end, p.longest(), buf, add)
	} else {
		walked = walkJSON(ctx, s.r.text, p.shape == Object, from, s.end, s.large, buf, add)
	}
	if err == nil {
		err = walked
	}
	return first, next, ok, err
}

// drop forgets all rows of a table without a file.
func (t *table) drop() {
	t.mu.Lock()
	t.pending, t.count = t.pending[:0], 0
	t.mu.Unlock()
}
