package index

import "testing"

// edits is editsWithin without a bound, by the book.
func edits(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
		for j := 1; j <= len(b); j++ {
			if i == 0 {
				rows[0][j] = j
				continue
			}
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// FuzzEdits compares editsWithin with the long way of counting edits.
func FuzzEdits(f *testing.F) {
	for _, pair := range [][2]string{
		{"kubernetes", "kubernets"}, {"reedis", "redis"}, {"postgres", "postgers"}, {"aab", "aba"}, {"", "ab"}, {"abcdefghij", "cdefghij"}, {"abcdefghi", "bacdefgih"}, {"a", ""}, {"abab", "baba"},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
		n := edits(a, b)
		for most := range 4 {
			if editsWithin(a, b, most) != (n <= most) {
				t.Errorf("%q and %q, %d edits: within %d is %v", a, b, n, most, n > most)
			}
		}
	})
}
