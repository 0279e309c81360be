package extract

import (
	"slices"
	"strings"
	"sync"
)

// What a sentence is made of when it says what was decided: a word of choice or of rejecting, what it
// was chosen over, and why. No one of them is enough in every language, together they are. All in
// lower case; those of letters begin a word.
var (
	decisionLabels = vocabularyOf([]string{
		"decision", "decided", "resolved", "resolution", "verdict", "conclusion", "choice", "chosen", "design choice", "agreed", "agreement", "rule", "policy", "rationale", "trade-off", "tradeoff", "adr", "outcome", "root cause",
		"entscheidung", "beschluss", "fazit", "festlegung", "décision", "choix", "conclusión", "decisión", "elección", "decisão", "escolha", "decisione", "scelta", "besluit", "keuze", "decyzja", "решение", "вывод", "决定", "结论", "決定", "結論", "결정", "방침", "方針",
	})
	choices = vocabularyOf([]string{
		"decid", "chose", "choos", "opt for", "opted", "opting", "settl", "going with", "go with", "went with", "goes with", "stick", "prefer", "favor", "favour", "adopt", "commit to", "standardi", "we use ", "will use", "'ll use",
		"switch", "reject", "rule out", "ruled out", "ruling out", "discard", "abandon", "kept", "retain", "defer", "postpon", "won't", "will not", "not going to", "no longer",
		"conclu", "determin", "from now on", "the plan is", "convention", "lives in", "goes into", "will live", "let's go",
		"the way to go", "bet on", "wins", "win over", "won over", "it is;", "going forward", "deliberate", "on purpose", "by design", "settled", "final call", "rules out", "i'd rather", "would rather", "accept", "opt in", "made the call", "cap ", "capped", "frozen", "deprecat", "stick", "sign off", "signed off", "instead", "root cause", "turns out", "the fix is",
		"entschie", "entscheid", "beschl", "gewählt", "wähl", "nehmen", "nehme ", "bleib", "behalt", "verzicht", "lieber", "verwend", "setzen auf", "setze auf", "einig", "festgelegt", "lege fest", "legen fest", "umstell", "wechsel", "nutzen", "wird nicht", "verworfen", "verwerf", "künftig", "ab jetzt", "bewusst", "fällt weg", "kommt nicht", "bestehen", "geeinigt", "fiel auf", "fällt auf", "gegen ",
		"décid", "chois", "optons", "opter", "opté", "reten", "retien", "préfér", "préfè", "part sur", "partons", "exclu", "on reste", "tenons", "volontairement", "assum", "gard", "conserv", "plutôt", "remplac", "abandonn", "renon", "désormais", "on part sur", "on utilise", "utiliserons", "tranch", "écart",
		"elegi", "elij", "eleg", "optamos", "optar", "opto ", "optó", "elimin", "excluy", "nos vamos con", "me voy con", "a propósito", "acord", "prefier", "preferi", "manten", "mantien", "reemplaz", "sustitu", "descart", "quedamos", "me quedo", "usaremos", "usamos", "vamos a usar", "decidi", "a partir de ahora", "escolh", "mantem", "manter", "vamos usar", "vou usar", "ficamos", "fico com", "trocar", "combin", "opção",
		"decis", "scelt", "scegl", "teniamo", "tenere", "scart", "usiamo", "useremo", "restiamo", "tengo", "preferi", "elimin", "niente ", "beslot", "besliss", "gekozen", "kies", "kiez", "houden", "liever", "zdecyd", "wybra", "wybier", "zostaj", "używa", "użyj", "rezygn", "vald", "väljer", "beslut", "valg", "karar", "seçt", "tercih", "bırak", "kullanacağ", "framför", "istället", "quyết định", "chọn", "chốt", "thay vì", "उपयोग करेंगे", "चुना", "निर्णय", "के बजाय", "قرر", "سنستخدم", "بدلا من", "اخترت", "החלט", "במקום", "αποφ", "επιλ", "αντί",
		"реш", "выбра", "выбир", "остав", "останов", "отказ", "предпоч", "использ", "будем", "пусть", "фиксир", "вирішил", "обра",
		"决定", "方案", "不引入", "沿用", "不做", "只做", "定为", "选择", "选用", "采用", "改用", "保留", "不再", "放弃", "换成", "优先", "統一", "统一", "決め", "選択", "選び", "採用", "やめ", "残す", "使う", "使い", "することに", "にする", "とする", "置く", "しない", "方式", "로 한다", "처리한다", "두기로", "방식", "선택", "채택", "유지", "하기로",
	})
	// leanings are what is also said without deciding anything.
	leanings = vocabularyOf([]string{
		"no ", "not ", "don't", "doesn't", "isn't", "cannot", "nothing", "none", "kein", "nicht", "sin ", "ningun", "ningún", "pas de", "aucun", "sem ", "nenhum", "senza", "nessun", "geen", "bez ", "без ", "не ", "不", "别", "没有", "ない", "ません", "않", "없",
		"will be", "are stored", "is stored", "stays", "each ", "per ", "at most", "behind", "ships", "moves", "strict", "made ", "serán", "sera ", "seront", "será", "se guard", "wird ", "werden", "bleibt", "sarà", "wordt", "будет", "будут", "一律", "每个",
		"stay", "drop", "leave ", "leaving", "skip", "avoid", "never", "always", "must", "has to", "have to", "should", "for now", "approach", "simplest", "simpler", "better", "best", "safer", "cleaner", "cheaper", "worth", "belongs", "becomes", "remain",
		"keep", "we'll", "agree", "make it", "pick", "replac", "only ", "use ", "using", "move", "goes", "need no", "no new", "enough", "lives", "soll", "muss", "müssen", "darf", "immer", "nie ", "besser", "einfacher", "reicht", "doit", "faut", "jamais", "toujours", "mieux", "suffit",
		"debe", "hay que", "nunca", "siempre", "mejor", "basta", "deve", "mai ", "sempre", "meglio", "moet", "nooit", "beter", "должн", "нужно", "лучше", "никогда", "всегда", "必须", "应该", "不能", "只", "更", "べき", "必ず", "だけ",
	})
	// together are who decides: with a leaning it is a decision.
	together  = vocabularyOf([]string{"we ", "we'", "let's", "let us", "wir ", "nous ", "on ", "vamos", "nosotros", "wij ", "we gaan", "noi ", "мы ", "我们", "咱们", "私たち", "우리"})
	contrasts = vocabularyOf([]string{
		"instead of", "rather than", "in favor of", "in favour of", "in place of", "as opposed to", "over the", " over ", " vs", "versus", ", not ", "but not", "not via", "not a ", "without ",
		"anstatt", "statt ", "anstelle", "sondern", "nicht ", "plutôt que", "au lieu", "et non", "en vez", "en lugar", "y no ", "em vez", "ao invés", "invece", "anziché", "e non ", "in plaats", "zamiast", "a nie ", "istället", "i stedet", "yerine", "вместо", "а не ", "замість",
		"而不是", "而非", "不用", "ではなく", "代わり", "よりも", "대신", "아니라",
	})
	reasons = vocabularyOf([]string{
		"because", "since ", "so ", "as it ", "as the", "given", "due to", "otherwise", "therefore", "thus", "hence", "in order", "avoids", "which ", "that way", "to keep", "to avoid", "reason", "thanks to", "would ",
		"weil", " da ", "denn ", "damit", "deshalb", "daher", "sonst", "wegen", "grund", "parce", " car ", "afin", "donc", "puisque", "pour que", "pour éviter", "porque", "ya que", "así que", "para que", "para no", "pues ", "debido", "pois ", "já que", "perché", "poiché", "così ", "per evitare",
		"omdat", "want ", "zodat", "bo ", "ponieważ", "żeby", "eftersom", "fordi", "çünkü", "потому", "поэтому", "чтобы", "так как", "иначе", "因为", "所以", "以便", "否则", "避免", "ので", "から", "ため", "때문", "위해", "므로",
	})
)

// What each of them counts. A sentence with decisive or more is taken for a decision.
const (
	countLabel    = 4.0
	countChoice   = 2.5
	countLeaning  = 1.0
	countContrast = 2.0
	countReason   = 1.5
	countName     = 0.5 // it names something: `x`, a path, an identifier
	decisive      = 2.0
)

// decides tells how much a sentence of an agent is a decision.
func decides(text string) (score float64) {
	lower := " " + strings.ToLower(text[:min(len(text), longSpoken)])
	label, _, ok := strings.Cut(strings.TrimLeft(lower[:min(len(lower), 60)], " *#->_`[("), ":")
	if !ok {
		label, _, ok = strings.Cut(label, "：")
	}
	if !ok {
		label, _, ok = strings.Cut(label, " — ")
	}
	labelled := ok && decisionLabels.begins(" "+label) > 0
	if labelled {
		score += countLabel
	} else if ok && strings.Count(label, " ") < 3 {
		score += countReason // "Timeouts: 30 s for the importer": a heading and what is so
	}
	if n := choices.begins(lower); n > 0 {
		score += countChoice + min(float64(n-1), 2)*0.5
	}
	if n := leanings.begins(lower); n > 0 {
		score += countLeaning + min(float64(n-1), 2)*0.25
		if together.begins(lower) > 0 {
			score += countLeaning
		}
	}
	if contrasts.begins(lower) > 0 {
		score += countContrast
	}
	if reasons.begins(lower) > 0 {
		score += countReason
	}
	if strings.IndexByte(text, '`') >= 0 {
		score += countName
	}
	if !labelled && narrates(text) && !strings.HasPrefix(lower, " let's not") {
		score *= narrated
		if contrasts.begins(lower) > 0 {
			score *= 2
		}
	}
	return score
}

// A vocabulary is words by their first byte, so that a text is gone through once. It is made when it is first wanted: most commands
// extract nothing.
type vocabulary func() *[256][]string

func vocabularyOf(words []string) vocabulary {
	return sync.OnceValue(func() *[256][]string {
		var v [256][]string
		for _, w := range words {
			v[w[0]] = append(v[w[0]], w)
		}
		return &v
	})
}

// maxBegins is how many words are told apart; more say no more.
const maxBegins = 3

// begins counts the words of a vocabulary that stand in a text, each at the start of a word.
// Scripts that write without spaces have none.
func (v vocabulary) begins(text string) (n int) {
	words := v()
	var found [maxBegins]string
	for at := range len(text) {
		c := text[at]
		if len(words[c]) == 0 || c >= 'A' && c < 0xE0 && at > 0 && class[text[at-1]] != 0 && class[text[at-1]] != 'p' {
			continue
		}
		for _, w := range words[c] {
			if strings.HasPrefix(text[at:], w) && !slices.Contains(found[:n], w) {
				if found[n], n = w, n+1; n == maxBegins {
					return n
				}
				break
			}
		}
	}
	return n
}
