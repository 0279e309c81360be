package extract

import (
	"slices"
	"testing"
)

func TestWords(t *testing.T) {
	count := func(text string) (n int, share float64) {
		forWords(text, func(_ uint64, s float64) { n, share = n+1, share+s })
		return n, share
	}
	for text, want := range map[string]int{
		"the lock is per tenant":   5,
		"The lock":                 2,
		"parseRow calls src/a.go":  1, // of names, only what stands between them
		"retry_after is 900 ms":    2,
		"well-known":               2,
		"Şube önbelleği boş":       3,
		"блокировка ждёт":          2,
		"缓存键里没有院区":                 7, // pairs of neighbours
		"Redisを捨てる":                4, // a word, and three pairs
		"잠금은 테넌트마다":                2,
		"":                         0,
		"\xff\xfe a":               0,
		"a b c d":                  0,
		"===== 12:30 --- {}":       0,
		"e\u0301te\u0301 pluvieux": 2,
		"ระบบล็อกต่อผู้เช่า": 17,
	} {
		got, _ := count(text)
		if got != want {
			t.Errorf("%q has %d words, want %d", text, got, want)
		}
	}
	if _, share := count("缓存键"); share != 2*pairNews {
		t.Errorf("two pairs are %.1f words", share)
	}
	var upper, lower []uint64
	forWords("Çok İYİ ÖNBELLEK", func(h uint64, _ float64) { upper = append(upper, h) })
	forWords("çok iyi önbellek", func(h uint64, _ float64) { lower = append(lower, h) })
	if upper[0] != lower[0] || upper[2] != lower[2] {
		t.Error("large letters make other words")
	}
}

func TestLabels(t *testing.T) {
	for text, want := range map[string]bool{
		"Decision: the parser stays synchronous.": true, "**Karar:** ayrıştırıcı eşzamanlı kalıyor.": true, "待办：给解析器写测试": true, "Root cause: a lock.": true,
		"src/a.go: it is here": false, "http://example.com/a/b": false, "12:30 was when it stopped": false, "This is a sentence that has a colon: late": false, "a:b": false, "Done:": false, "": false,
	} {
		if hasLabel(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func TestAnAnnouncementNamesWhatTheCallNames(t *testing.T) {
	turns := []Turn{
		{Kind: Assistant, Text: "Vajon parseRow hol fordul elő a kódban?"},
		{Kind: Call, Tool: "bash", Text: `{"command":"grep -rn parseRow src"}`},
		{Kind: Assistant, Text: "Vajon readRow hol fordul elő a kódban?"},
		{Kind: Call, Tool: "bash", Text: `{"command":"ls"}`},
	}
	all := linesOf(turns)
	weighLines(all, turns, gatherRecords(turns))
	at := func(turn int32) *line {
		return &all[slices.IndexFunc(all, func(l line) bool { return l.turn == turn })]
	}
	if !at(0).announces(turns) || at(2).announces(turns) || at(0).news >= at(2).news {
		t.Errorf("%.1f and %.1f", at(0).news, at(2).news)
	}
}
