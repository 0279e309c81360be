package index_test

import (
	"slices"
	"testing"

	"github.com/plimsoll/plimsoll/internal/memory/index"
)

func TestALooseSearchFindsWhatIsNearlyAWord(t *testing.T) {
	x := index.New(index.Defaults())
	texts := []string{"Deploys services to a Kubernetes cluster.", "Failed messages land in a dead letter queue.", "CI runs on GitHub Actions.", "Die Datenbank heißt Möwe.", "Redis is a cache.", "Nothing of interest."}
	for _, text := range texts {
		x.Add(index.Doc{Lane: index.Note, Text: text, States: true})
	}
	for asked, want := range map[string]int{"k8s": 0, "kube": 0, "kuberntes": 0, "DLQ": 1, "gha": 2, "Datenbanken": 3, "reedis": 4, "rdeis": 4, "redisdb": 4} {
		if hits, _ := x.Search(index.Query{Text: asked, Limit: 5, Loose: true}); len(hits) != 1 || hits[0].Doc != want {
			t.Errorf("%s finds %v, not %q", asked, hits, texts[want])
		}
		if hits, _ := x.Search(index.Query{Text: asked, Limit: 5}); len(hits) != 0 {
			t.Errorf("%s finds %v without Loose", asked, hits)
		}
	}
	for _, asked := range []string{"k9s", "reddit", "redux", "dlp", "radis", "redistribute"} {
		if hits, _ := x.Search(index.Query{Text: asked, Limit: 5, Loose: true}); len(hits) != 0 {
			t.Errorf("%s finds %v", asked, hits)
		}
	}
	if held, of := x.CountStated("Redis runs nowhere"); of != len(texts) || held["redi"]+held["redis"] != 1 || held["run"] != 1 || held["nowher"] != 0 {
		t.Errorf("of %d: %v", of, held)
	}
}

// TestWhatStatesNothingIsNotFoundLoosely: documents that state nothing are neither found by a loose search nor counted, whatever words they hold, and a
// word that only they hold is as unknown as one of none.
func TestWhatStatesNothingIsNotFoundLoosely(t *testing.T) {
	x := index.New(index.Defaults())
	for range 50 {
		x.Add(index.Doc{Lane: index.Tool, Text: "kube: deploys services to a Kubernetes cluster."})
		x.Add(index.Doc{Lane: index.User, Text: "kube or not?"})
	}
	if hits, _ := x.Search(index.Query{Text: "kube", Limit: 5, Loose: true}); len(hits) != 0 {
		t.Errorf("kube finds %v", hits)
	}
	gone := x.Add(index.Doc{Lane: index.User, Text: "The cluster is gone.", States: true})
	x.Remove(gone)
	stated := x.Add(index.Doc{Lane: index.User, Text: "The services are on Kubernetes.", States: true})
	for _, asked := range []string{"kube", "Kubernetes", "kubernets"} {
		if hits, total := x.Search(index.Query{Text: asked, Limit: 5, Loose: true}); total != 1 || len(hits) != 1 || hits[0].Doc != stated {
			t.Errorf("%s finds %v of %d", asked, hits, total)
		}
	}
	if held, of := x.CountStated("kube Kubernetes"); of != 1 || held["kubernet"]+held["kubernetes"] != 1 || held["kube"] != 0 {
		t.Errorf("of %d: %v", of, held)
	}
}

func TestTokensAreWhatIsIndexed(t *testing.T) {
	for _, text := range []string{"We ship readFile on Fridays. It's O'Neil's max_retries, app/run.go", "缓存过期时间 is 15 min", "a", "", "x: y\nz", "GitHub Actions!"} {
		var words index.Words
		var each, tokens []string
		words.Each(text, func(term []byte) { each = append(each, string(term)) })
		last := 0
		for tok := range words.Tokens(text) {
			if tok.Term != "" {
				tokens = append(tokens, tok.Term)
			}
			if tok.At < 0 || tok.End > len(text) || tok.At > tok.End || !tok.Dense && tok.At < last {
				t.Errorf("%q: %+v is out of place", text, tok)
			}
			last = tok.At
		}
		slices.Sort(each)
		slices.Sort(tokens)
		if !slices.Equal(each, tokens) {
			t.Errorf("%q: terms %q, tokens %q", text, each, tokens)
		}
	}
}

func FuzzTokens(f *testing.F) {
	f.Add("We use pnpm; k8s readFile O’Neil 缓存\xff")
	f.Fuzz(func(t *testing.T, text string) {
		var words index.Words
		n, tokens := 0, 0
		words.Each(text, func([]byte) { n++ })
		for tok := range words.Tokens(text) {
			if tok.Term != "" {
				tokens++
			}
			if tok.Word == "" || tok.At < 0 || tok.At > len(text) {
				t.Errorf("%+v", tok)
			}
			index.Similarity(tok.Word, tok.Run)
		}
		if n != tokens {
			t.Errorf("%d terms, %d tokens", n, tokens)
		}
	})
}
