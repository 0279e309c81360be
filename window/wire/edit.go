package wire

// Replace puts other JSON in place of the value in a span of the body: a literal, an object, an element of an array. With nothing it takes
// the bytes out, which is for the caller to get right. What lies inside a part or message that goes as a whole is void, as with every edit.
func (d *Draft) Replace(at Span, with []byte) {
	if at.Start < 0 || at.End < at.Start || at.End > len(d.r.Body) {
		d.failf("replace bytes [%d,%d) of %d", at.Start, at.End, len(d.r.Body))
		return
	}
	if len(with) > 0 {
		d.check(with)
	}
	d.set(at, with)
}

// SetMember gives a member of the object in a span another value, or adds it behind the others.
func (d *Draft) SetMember(object Span, name string, value []byte) {
	d.check(value)
	d.setMember(object, name, value)
}

// DropMark takes one of the [Request.Marks] out.
func (d *Draft) DropMark(n int) {
	if n < 0 || n >= len(d.r.Marks) {
		d.failf("no mark %d of %d", n, len(d.r.Marks))
		return
	}
	d.set(d.r.Marks[n], nil)
}
