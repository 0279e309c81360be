package toolbox

import (
	"fmt"

	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// keptHandle matches a handle in the note beside a page.
var keptHandle = lazy.Regexp(`\{"handle":"(r_[0-9a-z]{8,64})"`)

// maxKept bounds the end of a text that is searched for the note beside a page, which comes last.
const maxKept = 4 << 10

// Keep stores a result that leaves the window, and returns the call by which the model can read it again. A page of a kept result is not
// stored; the call then names that result. It returns "" if no connected server has a tool for reading, or the text could not be stored.
func (b *Toolbox) Keep(tool, text string) string {
	page := ""
	for _, l := range b.sessions {
		l.mu.Lock()
		if l.reads {
			page = addedName(l.names, pageRole)
		}
		l.mu.Unlock()
		if page != "" {
			break
		}
	}
	if page == "" {
		return ""
	}
	found := keptHandle().FindStringSubmatch(text[max(0, len(text)-maxKept):])
	if found != nil {
		if kept, err := b.spool.Read(b.principal, found[1]); err == nil {
			_ = kept.Close()
			return fmt.Sprintf(`%s {"handle":"%s"}`, page, found[1])
		}
	}
	w, err := b.spool.Create(spool.Source{Principal: b.principal, Server: functionsName, Tool: clip(tool, maxShown)})
	if err != nil {
		return ""
	}
	if _, err = w.Write([]byte(text)); err == nil {
		err = w.Complete(spool.Final{})
	}
	if err != nil {
		_ = w.Discard()
		return ""
	}
	return fmt.Sprintf(`%s {"handle":"%s"}`, page, w.Handle())
}
