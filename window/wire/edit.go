package wire

// Replace puts other JSON in place of the value in a span of the body: a literal, an object, an element of an array. With an empty with it
// removes the bytes; the caller sees to it that the rest is JSON. Inside a part or message that is dropped or replaced it has no effect.
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

// SetMember sets a member of the object in a span to a value, or adds it behind the others.
func (d *Draft) SetMember(object Span, name string, value []byte) {
	d.check(value)
	d.setMember(object, name, value)
}

// DropMark removes the cache mark with that index in [Request.Marks].
func (d *Draft) DropMark(n int) {
	if n < 0 || n >= len(d.r.Marks) {
		d.failf("no mark %d of %d", n, len(d.r.Marks))
		return
	}
	d.set(d.r.Marks[n], nil)
}
