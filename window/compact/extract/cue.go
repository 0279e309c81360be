package extract

import "strings"

// cue says what a line does, by its words.
type cue uint8

const (
	cueConstraint cue = 1 << iota
	cueDecision
	cueError
	cueNext
)

// The words are matched in lower case, each at the start of a word. They are English and a few of
// the commonest elsewhere; a line without any is still weighed by what it holds.
var cueWords = []struct {
	is    cue
	words []string
}{
	{cueConstraint, []string{
		"must", "never", "always", "do not", "don't", "only ", "required", "make sure", "ensure", "forbidden", "not allowed",
		"avoid", "without ", "at least", "at most", "no more than", "instead of", "keep ", "remember", "important", "should",
		"niemals", "immer ", "nicht ", "muss ", "jamais", "toujours", "nunca", "siempre", "不要", "必须", "禁止",
	}},
	{cueDecision, []string{
		"decided", "decision", "we will", "i'll use", "i will use", "going with", "chose", "agreed", "root cause", "turns out", "because",
		"the fix", "fixed by", "the plan", "settled on", "we use", "conclusion", "confirmed", "found that", "approach",
	}},
	{cueError, []string{
		"error", "failed", "failure", "panic", "exception", "fatal", "traceback", "denied", "refused", "timed out", "cannot", "undefined",
		"not found", "segfault", "exit status", "exit code", "assert",
	}},
	{cueNext, []string{"next step", "next,", "next i", "todo", "remaining", "still need", "then i", "now i'll", "pending", "to do:"}},
}

// cues reads a line for those that are asked for. The first bytes of a long one are enough.
func cues(text string, ask cue, scratch []byte) (found cue) {
	text = text[:min(len(text), longLine)]
	lower := append(scratch[:0], ' ')
	for i := range len(text) {
		c := text[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower = append(lower, c)
	}
	view := string(lower)
	for _, group := range cueWords {
		if group.is&ask == 0 {
			continue
		}
		for _, word := range group.words {
			if at := strings.Index(view, word); at >= 0 && (class[view[at-1]] == 0 || word[0] >= 0x80 || class[view[at-1]] == 'p') {
				found |= group.is
				break
			}
		}
	}
	return found
}

// narrations begin sentences with which agents announce their next call.
var narrations = []string{
	"let me ", "let's ", "now i", "now let", "i will ", "i'll ", "i'm going to", "i am going to", "i need to ", "next, i", "next i", "first, i", "first, let",
	"understood", "okay", "ok,", "great", "perfect", "sure", "good", "i look", "i see", "looking at", "checking ", "then i", "i want to see", "time to ", "reading ", "running ", "opening ", "searching ", "let us look", "one moment", "first ", "i'm checking", "i am checking", "i check", "i read", "i run", "i open", "i search",
	"ich schau", "ich sehe", "ich prüf", "ich lese", "ich such", "ich öffne", "jetzt ", "als nächstes", "zuerst", "lass mich", "schauen wir", "mal sehen", "voyons", "je regarde", "je vais", "je vérifi", "je lis", "regardons",
	"maintenant", "d'abord", "je cherche", "ahora ", "voy a", "veamos", "déjame", "primero", "vamos a ver", "miro ", "reviso", "leo ", "busco", "agora ", "vou ver", "vou ler", "vou olhar", "deixe-me", "vejamos", "adesso", "vediamo", "guardo ", "controllo",
	"leggo", "сейчас", "посмотр", "проверя", "теперь", "давай", "читаю", "смотрю", "我来", "让我", "我先", "先看", "看看", "接下来", "现在看", "まず", "次に", "見て", "確認し", "이제", "먼저", "확인", "kijk", "ik kijk", "sprawdz", "teraz", "nu ", "låt mig",
}

func narrates(text string) bool {
	start := strings.ToLower(text[:min(len(text), 48)])
	for _, n := range narrations {
		if strings.HasPrefix(start, n) {
			return true
		}
	}
	return false
}
