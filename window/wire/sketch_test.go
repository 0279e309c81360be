package wire

import (
	"fmt"
	"strings"
)

// sketch writes what a view sees, one line for each message, so that tables can show it.
func sketch(r *Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "model=%s output=%d stream=%t", r.Model, r.MaxOutput, r.Stream)
	if r.Bypass != 0 {
		fmt.Fprintf(&b, " aside=%v", r.Bypass)
	}
	for i, t := range r.Tools {
		fmt.Fprintf(&b, "%s%s", [...]string{" tools=", ","}[min(i, 1)], t.Name)
	}
	for _, e := range r.Extra {
		fmt.Fprintf(&b, " extra=%s", r.Raw(e))
	}
	for _, m := range r.Marks {
		fmt.Fprintf(&b, " mark=%s", r.Raw(m))
	}
	b.WriteByte('\n')
	if len(r.System) > 0 {
		b.WriteString("head")
		sketchParts(&b, r, r.System)
	}
	for i := range r.Messages {
		b.WriteString(r.Messages[i].Role.String())
		sketchParts(&b, r, r.Messages[i].Parts)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func sketchParts(b *strings.Builder, r *Request, parts []Part) {
	for i := range parts {
		p := &parts[i]
		fmt.Fprintf(b, " | %v", p.Kind)
		switch p.End {
		case Opens:
			b.WriteString(" opens")
		case Closes:
			b.WriteString(" closes")
		}
		if p.Declares {
			b.WriteString(" declares")
		}
		if p.CallID != "" {
			fmt.Fprintf(b, " #%s", p.CallID)
		}
		if p.Name != "" {
			fmt.Fprintf(b, " %s", p.Name)
		}
		if p.Failed {
			b.WriteString(" failed")
		}
		for _, t := range p.Texts {
			fmt.Fprintf(b, " %s", r.Raw(t))
		}
		if !p.Raw.IsZero() {
			fmt.Fprintf(b, " raw=%s", r.Raw(p.Raw))
		}
		if !p.Sealed.IsZero() {
			fmt.Fprintf(b, " sealed=%s", r.Raw(p.Sealed))
		}
		for _, m := range p.Media {
			fmt.Fprintf(b, " media(%s", m.Type)
			if m.Base64 > 0 {
				fmt.Fprintf(b, " %d %s", m.Base64, r.Raw(m.Head))
			}
			if m.URL {
				b.WriteString(" url")
			}
			if m.FileID {
				b.WriteString(" file")
			}
			b.WriteByte(')')
		}
	}
	b.WriteByte('\n')
}
