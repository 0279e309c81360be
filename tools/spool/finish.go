package spool

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/plimsoll/plimsoll/limit"
)

// manyBlocks is the number of text blocks above which each is an item, even if one of them is much larger than the others.
const manyBlocks = 20

// endPart ends the part under way, if there is one. Of the texts and of the other parts only the largest is kept, or the one that readers have. With
// cut set it ignores write errors.
func (w *Writer) endPart(cut bool) error {
	p := w.part
	if p == nil {
		return nil
	}
	if err := w.storeBuffer(true); err != nil && !cut {
		return err
	}
	w.part = nil
	if p.dropped {
		return nil
	}
	p.end = max(p.end, p.begin)
	w.hash.Sum(p.sum[:0])
	if p.kind == Text {
		if err := w.addBlocks(p); err != nil && !cut {
			return err
		}
	}
	kept := &w.best
	if p.kind != Text {
		kept = &w.other
	}
	if old := *kept; old != nil && (old.size() >= p.size() || w.frozenPart == old) {
		w.releaseTables(p)
		return nil
	} else if old != nil {
		w.releaseTables(old)
	}
	*kept = p
	return nil
}

// releaseTables releases the page tables of a part, unless readers use them.
func (w *Writer) releaseTables(p *part) {
	if w.frozenPart == p {
		return
	}
	for _, t := range []**paging{&p.find.now, &p.find.best, &p.find.lines} {
		w.release(*t)
		*t = nil
	}
}

// addBlocks adds the rows of a text part to the table of blocks: one, or several for a long text, which is cut like a long line.
func (w *Writer) addBlocks(p *part) error {
	if p.size() == 0 {
		return nil
	}
	if w.blocks == nil {
		w.blocks = &table{dir: w.dir, name: blockFile, grow: w.grow}
	}
	longest := min(maxLine, int64(w.head.PageBytes)) - 1 // the newline between blocks
	for at := p.begin; at < p.end; {
		end := p.end
		if end-at > longest {
			cut, err := runeStart(w.text, at+longest)
			if err != nil {
				return err
			}
			end = cut
		}
		w.blocks.append(row{int64(p.number), at, end})
		at = end
	}
	return w.blocks.err
}

// runeStart returns the last offset up to off at which a character begins.
func runeStart(text io.ReaderAt, off int64) (int64, error) {
	var b [4]byte
	from := max(0, off-3)
	n, err := text.ReadAt(b[:off-from+1], from)
	if err != nil && err != io.EOF {
		return 0, err
	}
	for i := n - 1; i >= 0; i-- {
		if b[i]&0xc0 != 0x80 {
			return from + int64(i), nil
		}
	}
	return off, nil
}

// Complete ends the result; after it the figures are final, and every process that shares the spool can read the result to its end. After
// an error of Write or of Complete itself, the result can still be ended by Cut or Discard.
func (w *Writer) Complete(o Final) error { return w.finish("", o.Error) }

// Cut ends a result that broke off; reason is a sentence for readers. The text so far can be read; of an array without an end, its complete
// items.
func (w *Writer) Cut(reason string) error {
	if reason == "" {
		reason = "it broke off"
	}
	return w.finish(limit.Cut(reason, 500, func(int) string { return "…" }), false)
}

// finish ends the result, writes its metadata and corrects its size in the ledger. cut says why the result broke off, "" if it is whole;
// failed, that it is the error of a tool. A second call returns os.ErrClosed; after an error the caller may still cut or discard the
// result.
func (w *Writer) finish(cut string, failed bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.meta != nil || w.gone {
		return os.ErrClosed
	}
	if cut == "" && w.err != nil {
		return w.err
	}
	// This removes the file that kept room for the end of the result.
	if w.dir.Remove(spareFile) == nil {
		w.used -= spareSize
	}
	if cut != "" {
		w.err, w.ending = nil, true
		_ = w.text.Truncate(w.size) // removes what a failed write left
		for _, p := range w.pagings() {
			p.pages.clearError()
			p.large.clearError()
		}
		if w.blocks != nil {
			w.blocks.clearError()
		}
	}
	m, err := w.writeDocument(cut, failed)
	if err == nil {
		err = w.s.full(writeJSON(w.dir, metaFile, m))
	}
	if err != nil {
		w.err = err
		w.notify()
		return err
	}
	w.meta = m
	w.notify()
	w.releaseFiles()
	return w.s.withLedger(func(l *ledger) error {
		delete(w.s.live, w.id)
		if a := l.find(w.id); a != nil {
			a.writing, a.bytes, l.changed = false, w.s.diskUse(w.id.String()), true
		}
		return nil
	})
}

// pagings returns all page tables that the writer has created, also those that are free to be used again.
func (w *Writer) pagings() []*paging {
	all := append(slices.Clone(w.idlePagings), w.frozenPaging)
	for _, p := range []*part{w.best, w.other, w.part} {
		if p != nil && p.find != nil {
			all = append(all, p.find.now, p.find.best, p.find.lines)
		}
	}
	return slices.DeleteFunc(all, func(p *paging) bool { return p == nil })
}

// releaseFiles ends one use of the files, the writer's or a reader's, and closes them with the last. The caller holds w.mu.
func (w *Writer) releaseFiles() {
	if w.refs--; w.refs > 0 {
		return
	}
	for _, p := range w.pagings() {
		p.pages.close()
		p.large.close()
	}
	if w.blocks != nil {
		w.blocks.close()
	}
	w.closeFiles()
	w.buf, w.scratch = nil, nil
}

// writeDocument ends the part under way, chooses the document, writes its tables and removes all others. It returns the metadata, which the caller
// writes. The caller holds w.mu.
func (w *Writer) writeDocument(cut string, failed bool) (*meta, error) {
	under := w.part
	if under != nil && under.dropped {
		under = nil
	}
	if err := w.endPart(cut != ""); err != nil {
		return nil, err
	}
	doc := w.chooseDocument()
	m := &meta{Version: version, Stored: w.size, Cut: cut, Failed: failed, Parts: w.parts}
	if doc == nil && w.blocks != nil && w.texts > 1 {
		return m, w.writeBlockDocument(m)
	}
	if doc == nil {
		doc = &part{kind: Text, find: newFinder(w, nil), sum: sha256.Sum256(nil)}
		doc.find.p = doc
	}
	table, err := doc.find.finish(cut != "" && doc == under)
	if err != nil {
		return nil, err
	}
	m.Shape, m.Items, m.Pages, m.Large = table.shape, table.count, table.pages.len(), table.large.len()
	m.PageName, m.BigName, m.PerPage = table.pages.name, table.large.name, table.items
	m.DocBegin, m.DocEnd, m.Begin, m.Close, m.Last = doc.begin, doc.end, table.begin, table.close, max(table.end, table.begin)
	m.Part, m.Depth = doc.number, len(table.keys)
	m.Wrapped = len(table.keys) > 0
	m.SHA256 = fmt.Sprintf("%x", doc.sum)
	for _, k := range table.keys {
		m.Keys = append(m.Keys, w.readKey(k))
	}
	w.best, w.other = doc, nil
	err = errors.Join(w.s.full(table.pages.flush()), w.s.full(table.large.flush()))
	w.removeUnusedTables(m)
	return m, err
}

// removeUnusedTables removes the table files that do not belong to the document, as far as it can.
func (w *Writer) removeUnusedTables(m *meta) {
	for n := range w.made {
		for _, name := range []string{fmt.Sprintf("pages.%d", n+1), fmt.Sprintf("large.%d", n+1)} {
			if name != m.PageName && name != m.BigName {
				_ = w.dir.Remove(name)
			}
		}
	}
	if m.Shape != Blocks {
		_ = w.dir.Remove(blockFile)
	}
}

// chooseDocument returns the part that is the document; nil if the blocks are, or if there is no part at all.
func (w *Writer) chooseDocument() *part {
	if w.frozenPart != nil {
		return w.frozenPart
	}
	page := int64(w.head.PageBytes)
	if w.other != nil && w.other.kind == Structured && w.textSize <= page && w.other.size() > w.textSize {
		return w.other
	}
	switch {
	case w.best == nil || w.texts == 0:
		return w.other
	case w.texts == 1:
		return w.best
	case w.texts > manyBlocks:
		return nil
	case w.textSize-w.best.size() <= page/2 && w.best.size() > page/2:
		return w.best // the others are small enough to be beside it
	}
	return nil
}

// writeBlockDocument makes each block an item of the document, and fills m accordingly.
func (w *Writer) writeBlockDocument(m *meta) error {
	first, err := w.blocks.get(0)
	if err != nil {
		return err
	}
	p := w.newPaging(rulesFor(Blocks, w.head.PageItems, int64(w.head.PageBytes), false), first[1])
	p.end = first[1]
	count := w.blocks.len()
	for i := range count {
		b, err := w.blocks.get(i)
		if err != nil {
			return err
		}
		p.add(b[1], b[2]+1) // with the newline behind it
		p.end = b[2]
	}
	m.Shape, m.Items, m.Pages, m.Blocks, m.Part = Blocks, p.count, p.pages.len(), count, -1
	m.PageName, m.BigName, m.PerPage = p.pages.name, p.large.name, p.items
	m.DocBegin, m.DocEnd, m.Begin, m.Last = first[1], p.end, first[1], p.end
	h := sha256.New()
	if _, err := io.CopyBuffer(struct{ io.Writer }{h}, io.NewSectionReader(w.text, m.DocBegin, m.DocEnd-m.DocBegin), make([]byte, writeBuffer)); err != nil {
		return err
	}
	m.SHA256 = fmt.Sprintf("%x", h.Sum(nil))
	w.idlePagings = append(w.idlePagings, p)
	err = errors.Join(w.s.full(w.blocks.flush()), w.s.full(p.pages.flush()), p.err())
	w.removeUnusedTables(m)
	return err
}

// readKey returns the key of an object that is at [at[0],at[1]) of the text; "" if it cannot be read or is too long to be shown.
func (w *Writer) readKey(at [2]int64) string {
	b := make([]byte, min(at[1]-at[0], 1024))
	var key string
	if _, err := w.text.ReadAt(b, at[0]); err != nil || json.Unmarshal(b, &key) != nil {
		return ""
	}
	return key
}

// Discard ends the result and removes it. After Complete or Cut it does nothing.
func (w *Writer) Discard() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.meta != nil || w.gone {
		return nil
	}
	w.gone = true
	w.notify()
	w.releaseFiles()
	return w.s.withLedger(func(l *ledger) error {
		delete(w.s.live, w.id)
		l.remove(w.id)
		return w.s.root.RemoveAll(w.id.String())
	})
}
