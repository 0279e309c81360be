package toolbox

import (
	"fmt"

	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// keptHandle is a handle as the note beside a page has it.
var keptHandle = lazy.Regexp(`\{"handle":"(r_[0-9a-z]{8,64})"`)

// maxKept bounds the end of a text in which the note beside a page is looked for: it comes last.
const maxKept = 4 << 10

// Keep stores a result of a tool that leaves the window, and returns how the model can read it again: a call in words. Of a page the result
// that it is of is named, which is kept already. It is "" where no connected server has tools for that, or the text could not be kept.
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
