package limit

// Head keeps the first Max bytes of what is written to it, as of what a program prints, and takes the rest without keeping it. The zero value
// keeps nothing.
//
// It is no [bytes.Buffer] with a bound in its Write: [io.Copy] finds that type's ReadFrom, and os/exec copies by it.
type Head struct {
	// Max is a number of bytes.
	Max int

	kept []byte
	cut  bool
}

// Write implements [io.Writer] and never fails.
func (h *Head) Write(p []byte) (int, error) {
	n := min(len(p), max(0, h.Max-len(h.kept)))
	h.cut = h.cut || n < len(p)
	h.kept = append(h.kept, p[:n]...)
	return len(p), nil
}

// Bytes returns what is kept, until the next Write.
func (h *Head) Bytes() []byte { return h.kept }

// String returns what is kept.
func (h *Head) String() string { return string(h.kept) }

// Len returns the number of bytes kept.
func (h *Head) Len() int { return len(h.kept) }

// Cut reports whether there was more.
func (h *Head) Cut() bool { return h.cut }
