package jsonstream

// maxListDepth is the number of objects that may be around an array for it to count as a list.
const maxListDepth = 3

// Counter counts the items of the longest array in a JSON text that comes in pieces, of the arrays that only keys of objects lead to. A
// text that is not JSON has none.
type Counter struct {
	longest  int
	depth    int
	list     int // depth inside of the array that is counted, 0 is none
	items    int
	empty    bool
	started  bool
	broken   bool
	inString bool
	escaped  bool
}

// Write reads the next bytes of the text. It never fails: a text that is not JSON is counted as 0 by [Counter.End].
func (c *Counter) Write(p []byte) {
	for i := 0; i < len(p) && !c.broken; i++ {
		if c.inString {
			if c.escaped {
				c.escaped = false
				continue
			}
			if i += stringEnd(p[i:]); i == len(p) {
				return
			}
			c.escaped = p[i] == '\\'
			c.inString = c.escaped
			continue
		}
		b := p[i]
		class := classes[b]
		if class == classSpace {
			continue
		}
		if c.depth == 0 && (c.started || class != classOpen) {
			c.broken = true // a text, or more than one value
			return
		}
		c.started = true
		if c.depth == c.list && b != ']' {
			c.empty = false
		}
		switch class {
		case classQuote:
			c.inString = true
		case classOpen:
			c.depth++
			if b == '[' && c.list == 0 && c.depth <= maxListDepth+1 {
				c.list, c.items, c.empty = c.depth, 1, true
			}
		case classClose:
			if c.depth == c.list {
				if !c.empty {
					c.longest = max(c.longest, c.items)
				}
				c.list = 0
			}
			c.depth--
		case classMark:
			if b == ',' && c.depth == c.list {
				c.items++
			}
		}
	}
}

// End returns the count, 0 for a text that is not one whole array or object, and makes c ready for another.
func (c *Counter) End() int {
	n := c.longest
	if c.broken || c.depth != 0 {
		n = 0
	}
	*c = Counter{}
	return n
}
