package capture

// Strip returns a text without what Plimsoll put into it: blocks of recalled memory, summaries of compacted messages, masks, notes of
// pages, and lines that repeat one of the recalled lines.
func Strip(text string, recalled []string) string {
	return stripOwn(text, normalLines(recalled))
}
