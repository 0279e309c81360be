package memory

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// asked is a Wednesday.
var asked = time.Date(2026, 3, 11, 15, 4, 5, 0, time.FixedZone("", -5*60*60))

func TestTimesThatQuestionsName(t *testing.T) {
	for question, want := range map[string]string{
		"What did Joanna watch on 1 May, 2022?":                      "2022-05-01 2022-05-02",
		"Which team did he sign with on May 21st 2023?":              "2023-05-21 2023-05-22",
		"what was said on the 25th of December":                      "2025-12-25 2025-12-26",
		"the picture of December 1,2023":                             "2023-12-01 2023-12-02",
		"why did the build of 2026-02-27 fail?":                      "2026-02-27 2026-02-28",
		"What happened in January 2024?":                             "2024-01-01 2024-02-01",
		"what did we decide in may":                                  "2025-05-01 2025-06-01",
		"what did we decide in March?":                               "2026-03-01 2026-04-01",
		"who joined last Sept.?":                                     "2025-09-01 2025-10-01",
		"how often were we down in 2025":                             "2025-01-01 2026-01-01",
		"Where was John between August 11 and August 15 2023?":       "2025-08-11 2025-08-12, 2023-08-15 2023-08-16",
		"May 3 June 4":                                               "2025-05-03 2025-05-04, 2025-06-04 2025-06-05",
		"what did we decide about the ledger last week?":             "2026-03-02 2026-03-09",
		"and yesterday?":                                             "2026-03-10 2026-03-11",
		"the budget of last month, not of last year":                 "2026-02-01 2026-03-01, 2025-01-01 2026-01-01",
		"what about last week, as mentioned on 6 November, 2023?":    "2023-11-06 2023-11-07",
		"in 2001, in 2002, in 2003, in 2004, in 2005":                "2001-01-01 2002-01-01, 2002-01-01 2003-01-01, 2003-01-01 2004-01-01, 2004-01-01 2005-01-01",
		"May I march on? It may last.":                               "",
		"listen on port 2048, at most 2000 times, 32 of 64, today":   "",
		"what did we decide this week, and which week was the last?": "",
		"": "",
	} {
		var got []string
		for _, s := range parseTimes(question, asked) {
			day := func(ms int64) string {
				at := time.UnixMilli(ms).In(asked.Location())
				if h, m, s := at.Clock(); h+m+s != 0 {
					t.Errorf("%q: %s is not where a day begins", question, at)
				}
				return at.Format(time.DateOnly)
			}
			got = append(got, day(s.from)+" "+day(s.until))
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("%q names %q, want %q", question, got, want)
		}
	}
}

func FuzzTimesOfAQuestion(f *testing.F) {
	f.Add("between 25th of May and may 2022-05-25, last week")
	f.Add("May 31 31 May of in 1970 2199-12-31")
	f.Fuzz(func(t *testing.T, question string) {
		times := parseTimes(question, asked)
		if len(times) > maxTimes || slices.ContainsFunc(times, func(s span) bool { return s.from >= s.until }) {
			t.Errorf("%q names %v", question, times)
		}
	})
}
