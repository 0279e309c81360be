package recall_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/recall"
)

// rows reads a file of lines with fields between tabs.
func rows(t testing.TB, name string, least int) (out [][]string) {
	t.Helper()
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		out = append(out, strings.Split(lines.Text(), "\t"))
	}
	if len(out) < least {
		t.Fatalf("%s has %d lines, not %d", name, len(out), least)
	}
	return out
}

// setStore makes the store that the sets of prompts ask, and returns the texts by their names.
func setStore(t *testing.T) (*memory.Store, map[string]string) {
	var all []said
	named := map[string]string{}
	for _, r := range rows(t, "testdata/store.tsv", 150) {
		days, err := strconv.Atoi(r[1])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, said{r[2], days})
		named[r[0]] = r[2]
	}
	return storeOf(t, all...), named
}

// TestSetsOfPrompts holds what docs/memory.md says of the second set, and the same of the one that was fitted on, with room for a case or two.
func TestSetsOfPrompts(t *testing.T) {
	s, named := setStore(t)
	for _, set := range []struct {
		file             string
		least            int
		mostGiven, right float64
	}{{"testdata/prompts.tsv", 250, 0.02, 0.95}, {"testdata/heldout.tsv", 120, 0.03, 0.85}} {
		nothing, given, want, right := 0, 0, 0, 0
		for _, r := range rows(t, set.file, set.least) {
			got := texts(ask(t, s, strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(r[2])))
			if r[1] == "-" {
				if nothing++; len(got) > 0 {
					given++
				}
				continue
			}
			if named[r[1]] == "" {
				t.Fatalf("%s: there is no text %q", set.file, r[1])
			}
			if want++; slices.Contains(got, named[r[1]]) {
				right++
			}
		}
		if share := float64(given) / float64(nothing); share > set.mostGiven {
			t.Errorf("%s: %d of %d that want nothing get something", set.file, given, nothing)
		}
		if share := float64(right) / float64(want); share < set.right {
			t.Errorf("%s: only %d of %d that want something get it", set.file, right, want)
		}
	}
}

// TestContradictionsOfAMonth: of two words about one thing, among what a person says in a month, the later one is found first and given, and says what it
// has taken the place of; the older one is never given alone.
func TestContradictionsOfAMonth(t *testing.T) {
	pairs := rows(t, "../newest/testdata/contradictions.tsv", 20)
	var all []said
	for i, p := range pairs {
		all = append(all, said{p[0], 30 - i%10}, said{p[1], 10 - i%10})
	}
	for _, r := range rows(t, "testdata/store.tsv", 150) {
		if strings.HasPrefix(r[0], "note") {
			all = append(all, said{r[2], 20})
		}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	s := storeOf(t, all...)
	missing := 0
	for _, p := range pairs {
		for _, question := range []string{p[2], p[0]} {
			found, err := s.Search(context.Background(), memory.Query{Text: question})
			if err != nil {
				t.Fatal(err)
			}
			older := slices.IndexFunc(found.Items, func(i memory.Item) bool { return i.Text == p[0] })
			newer := slices.IndexFunc(found.Items, func(i memory.Item) bool { return i.Text == p[1] })
			switch {
			case newer < 0 || older >= 0 && older < newer:
				t.Errorf("%q: %q is at %d, and what replaced it at %d", question, p[0], older, newer)
			case older >= 0 && (found.Items[newer].Replaced == nil || found.Items[newer].Replaced.Text != p[0] || found.Items[older].ReplacedBy != found.Items[newer].ID):
				t.Errorf("%q: %q does not say that it replaced %q: %+v", question, p[1], p[0], found.Items[newer].Replaced)
			}
		}
		d := ask(t, s, p[2])
		if slices.Contains(texts(d), p[0]) {
			t.Errorf("%q is given, which counts no longer", p[0])
		}
		i := slices.Index(texts(d), p[1])
		if i < 0 {
			missing++
		} else if r := d.Given[i].Replaced; r == nil || r.Text != p[0] || !strings.Contains(d.Given[i].Sentence(), r.Said.UTC().Format(time.DateOnly)) {
			t.Errorf("%q is given without what it replaced: %+v", p[1], r)
		}
	}
	if missing > 3 {
		t.Errorf("%d of %d are given nothing", missing, len(pairs))
	}
}

func FuzzDecide(f *testing.F) {
	for _, seed := range []string{"", "go on", "Which package manager do we use?", "什么时候发布\xff", "```\ncode", "k8s DLQ GHA_x/y.go", strings.Repeat("a ", 9000), "\xc3\x28'’-_./@", "ſKelvin İstanbul ǅ"} {
		f.Add(seed, "We use pnpm; Kubernetes, DLQ: "+seed)
	}
	f.Fuzz(func(t *testing.T, prompt, text string) {
		p := recall.Read(prompt)
		found := memory.Results{Items: []memory.Item{
			{Record: memory.Record{ID: "a", Text: text, Said: now, Count: 1}, ReplacedBy: "b"},
			{Record: memory.Record{ID: "b", Text: prompt, Said: now}},
			{Record: memory.Record{ID: "c", Text: "We use pnpm.", Said: now}, ReplacedBy: "c"},
		}, StatementsWith: map[string]int{"pnpm": 3}, Statements: 3}
		d := recall.Decide(p, found, now)
		if len(d.Given) > recall.MaxList || len(d.Given)+len(d.Missed) > len(found.Items) || (len(d.Given) == 0) != (d.Why != "") {
			t.Errorf("%d given, %d missed of %d: %q", len(d.Given), len(d.Missed), len(found.Items), d.Why)
		}
		if p.Why != "" && len(d.Given) > 0 {
			t.Errorf("a prompt that wants nothing (%s) is given %q", p.Why, d.Given[0].Text)
		}
		for _, l := range d.Given {
			if l.Score < 1 || l.ID == "a" {
				t.Errorf("%q is given at %v", l.Text, l.Score)
			}
		}
	})
}

// BenchmarkRequestPath reads a prompt of 1 MiB and decides what it is given out of a store of 100,000 records.
func BenchmarkRequestPath(b *testing.B) {
	s, err := memory.Open(memory.Options{Dir: b.TempDir(), Clock: func() time.Time { return now }})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	subjects := strings.Fields("ledger invoice gateway harbour crane importer scheduler billing search mobile catalogue warehouse printer tariff archive")
	verbs := strings.Fields("uses needs writes reads keeps sends drops moves counts")
	random := rand.New(rand.NewPCG(1, 2))
	var batch []memory.Record
	for i := range 100_000 {
		text := fmt.Sprintf("The %s %s %s%d, and we looked at it together with the %s of ticket %d.", subjects[random.IntN(len(subjects))], verbs[random.IntN(len(verbs))],
			subjects[random.IntN(len(subjects))], random.IntN(20_000), subjects[random.IntN(len(subjects))], i)
		batch = append(batch, memory.Record{Origin: memory.OriginUser, Namespace: "user", Text: text, Said: now.AddDate(0, 0, -i%60), Source: memory.Source{Conversation: strconv.Itoa(i / 40), Turn: i % 40}})
		if len(batch) == 1000 {
			if _, err := s.Add(context.Background(), batch...); err != nil {
				b.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	ask(b, s, "Which scheduler do we use?") // reads the index
	var prose strings.Builder
	for _, r := range rows(b, "testdata/store.tsv", 150) {
		prose.WriteString(r[2] + "\n")
	}
	const question = "Which scheduler does our importer4711 use for the nightly invoice run?\n"
	for name, text := range map[string]string{
		"short":      question,
		"1MiB":       question + strings.Repeat("some pasted text of a log, with words\n", 1<<20/38),
		"1MiB/prose": question + strings.Repeat(prose.String(), 1<<20/prose.Len()),
		"none":       "go on",
	} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				ask(b, s, text)
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*95/100].Nanoseconds()), "p95-ns")
		})
	}
}
