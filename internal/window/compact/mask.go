package compact

import (
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/window/compact/extract"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/window/wire"
)

const (
	maskBegin = "[Plimsoll took this out to make room: "
	// maskWorth is the least a mask has to save, in bytes: each one costs the model a look.
	maskWorth = 160
	// firstLine is the number of bytes that stay of a result's first line, firstLineError of an error's.
	firstLine      = 80
	firstLineError = 240
	// heldLine is the number of bytes that stay of each line of a result that stands out.
	heldLine = 140
	// heldLinesDone is the number of such lines that stay of a result of an earlier task; of other results it is one.
	heldLinesDone = 3
	// failedLines is the number of bytes that stay of the errors in a command's output.
	failedLines = 480

	maskBegan  = "; it began: "
	maskHeld   = "; it held: "
	maskFailed = "; it failed:\n"
)

// isMask reports whether a text is the line that a mask put in place of a result.
func isMask(text string) bool { return strings.HasPrefix(text, maskBegin) }

// maskResults replaces old results and media by lines that describe them.
func (w *work) maskResults(at level) {
	if at >= levelOpen || w.c.o.WholeResults {
		return // the running turn needs what it just asked for
	}
	if w.applyCandidates(w.maskCandidates(at), w.aim(at)) {
		w.addRung(RungMask)
	}
}

// maskCandidates returns the results and media that may be replaced by a line on a level, where that saves at least maskWorth bytes.
func (w *work) maskCandidates(at level) (list []candidate) {
	w.forEditable(at, func(i int) {
		m := &w.base.Messages[i]
		for j := range m.Parts {
			p, t := &m.Parts[j], target{i, j}
			if w.actions[t].mask || p.Declares {
				continue
			}
			switch {
			case p.Kind == wire.Media && m.Role == wire.RoleUser && !m.Plain && isContentBlock(m, p):
			case p.Kind == wire.Result && w.base.TakesText(p):
			default:
				continue
			}
			text := w.maskLine(t)
			if text == "" || p.Span.Len()-len(text) < maskWorth {
				continue
			}
			list = append(list, candidate{t, action{mask: true}, w.bytesCost(i, p.Span.Len()-len(text))})
		}
	})
	return list
}

// isContentBlock reports whether a part is one of several blocks in the message's content, and not all of it.
func isContentBlock(m *wire.Message, p *wire.Part) bool {
	return m.Content.Contains(p.Span) && m.Content != p.Span
}

// maskLine returns the line that replaces a part: its size, its tool, how it can be read again, and lines of it that stand out; "" if the
// part is such a line already.
func (w *work) maskLine(t target) string {
	p := &w.base.Messages[t.message].Parts[t.part]
	if p.Kind == wire.Media {
		return maskBegin + describeMedia(p.Media) + "]"
	}
	var text string
	if len(p.Texts) > 0 {
		text = string(wire.Unquote(nil, w.base.Raw(p.Texts[0])))
		if isMask(text) {
			return ""
		}
	} else if !p.Raw.IsZero() {
		text = string(w.base.Raw(p.Raw))
	}
	var b strings.Builder
	b.WriteString(maskBegin)
	b.WriteString("a result of ")
	b.WriteString(strconv.Itoa(readableBytes(p)))
	b.WriteString(" bytes")
	if name := w.toolName(t); name != "" {
		b.WriteString(" from ")
		b.WriteString(name[:min(len(name), 64)])
	}
	if len(p.Media) > 0 {
		b.WriteString(" with ")
		b.WriteString(describeMedia(p.Media))
	}
	if where := w.places[t]; where != "" {
		b.WriteString(", all of it by " + where)
	}
	most := firstLine
	if p.Failed {
		b.WriteString(", an error")
		most = firstLineError
	}
	began := clipFirstLine(text, most)
	if began != "" {
		b.WriteString(maskBegan)
		b.WriteString(began)
	}
	lines, mark := w.failureLines(t), maskHeld
	if said := w.digests[t]; said != "" {
		b.WriteString(maskHeld + said + "]")
		return b.String()
	}
	for line := range strings.Lines(w.notableLines(t)) {
		if line = strings.TrimSpace(line); line != began && !strings.Contains(lines, line) {
			b.WriteString(mark)
			b.WriteString(line)
			mark = "\n"
		}
	}
	if lines != "" {
		b.WriteString(maskFailed)
		b.WriteString(lines)
		b.WriteByte('\n')
	}
	b.WriteByte(']')
	return b.String()
}

// quotedLines returns the lines of its result that a mask quotes; failed is true if lines about failures are among them.
func quotedLines(mask string) (text string, failed bool) {
	mask, lines, failed := strings.Cut(strings.TrimSuffix(mask, "]"), maskFailed)
	_, text, _ = strings.Cut(mask, maskHeld)
	return strings.TrimSpace(text + "\n" + lines), failed
}

// maxNotable returns how many notable lines of a result a mask may quote.
func (w *work) maxNotable() int {
	if w.goal.Since > 0 {
		return heldLinesDone
	}
	return 1
}

// failureLines returns the lines of a result that report failures, "" when there are none.
func (w *work) failureLines(t target) string {
	w.readResults()
	return w.failures[t]
}

// notableLines returns the lines of a result that stand out in the conversation, "" when there are none.
func (w *work) notableLines(t target) string {
	w.readResults()
	return w.notes[t]
}

// readResults fills in notes and failures for all results. Only the first call does anything.
func (w *work) readResults() {
	if w.notes != nil {
		return
	}
	w.notes, w.failures = map[target]string{}, map[target]string{}
	all := make([]int, len(w.base.Messages))
	for i := range all {
		all[i] = i
	}
	turns, from := w.turnsOf(all)
	for i, line := range extract.Notable(turns, heldLine, w.maxNotable()) {
		if line != "" {
			w.notes[from[i]] = line
		}
	}
	for i, lines := range extract.Failed(turns, failedLines) {
		if lines != "" {
			w.failures[from[i]] = lines
		}
	}
}

// describeMedia returns a description of media, for a mask.
func describeMedia(list []wire.MediaSource) string {
	if len(list) != 1 {
		return strconv.Itoa(len(list)) + " images or files"
	}
	name := list[0].Type
	if name == "" || len(name) > 64 {
		name = "image or file"
	}
	if list[0].Base64 > 0 {
		return "one " + name + " of " + strconv.Itoa(list[0].Base64/4*3) + " bytes"
	}
	return "one " + name
}

// clipFirstLine returns the first line of a text with at least 3 bytes, cut to n bytes; "" if there is none in the first 4 KiB.
func clipFirstLine(text string, n int) string {
	for line := range strings.Lines(text[:min(len(text), 4096)]) {
		line = strings.TrimSpace(line)
		if len(line) < 3 {
			continue
		}
		if len(line) > n {
			return limit.Clip(line, n) + " ..."
		}
		return limit.Clip(line, n)
	}
	return ""
}

// toolName returns the name of the tool that a result came from, "" if its call is missing: most dialects name the tool only in the call.
func (w *work) toolName(t target) string {
	if w.tools == nil {
		w.tools = map[target]string{}
		last := map[string]string{}
		for i := range w.base.Messages {
			for j := range w.base.Messages[i].Parts {
				switch p := &w.base.Messages[i].Parts[j]; {
				case p.Kind == wire.Call && p.CallID != "":
					last[p.CallID] = p.Name
				case p.Kind == wire.Result && p.Name != "":
					w.tools[target{i, j}] = p.Name
				case p.Kind == wire.Result:
					w.tools[target{i, j}] = last[p.CallID]
				}
			}
		}
	}
	return w.tools[t]
}

// applyAction makes the change of one action in a draft. A large result that is masked is stored by Options.Keep first.
func (w *work) applyAction(d *wire.Draft, t target, a action) {
	p := &w.base.Messages[t.message].Parts[t.part]
	switch {
	case a.mask && p.Kind == wire.Media:
		d.ReplacePart(t.message, t.part, wire.TextElement(w.base.Dialect, w.base.Messages[t.message].Role, w.maskLine(t)))
	case a.mask:
		w.storeResult(t)
		d.ReplaceResult(t.message, t.part, w.maskLine(t))
	default:
		s, _ := shortenResult(w.base, p, a.keep)
		if s.whole != "" {
			d.ReplaceResult(t.message, t.part, s.whole)
		}
		for i, text := range s.texts {
			d.ReplaceText(t.message, t.part, i, text)
		}
	}
}
