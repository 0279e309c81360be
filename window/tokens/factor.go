package tokens

// band is the number of tokens of a family for 100 of o200k_base.
type band struct{ low, best, high int32 }

// factors hold a band for every kind of text. Where they come from:
//
//   - Claude up to 4.6 against GPT-4o: English +16 %, mathematics +21 %, Python +30 %
//     (Soroco's measurement of Claude 3.5 Sonnet, 2025, with Anthropic's own counting).
//     Anthropic's published tokenizer of Claude 2 gave 0.82 of o200k on hexadecimal dumps
//     and 1.57 on mixed Unicode.
//   - Claude 4.7 against 4.6, with count_tokens, April 2026: English and German 1.45, French
//     1.36, Spanish 1.24, technical documents 1.47, log lines in JSON 1.31, source code 1.13
//     to 1.39, UUIDs and times 1.07, Cyrillic, Arabic, Indic, Chinese, Japanese, Korean 1.00
//     (sol.ava.dev, claudecodecamp.com). Anthropic names 1.0 to 1.35.
//   - Llama 3 and Qwen extend cl100k_base, which has, on the texts of this package's tests,
//     1.00 to 1.01 of o200k on English, code and JSON, 1.4 on Chinese and Japanese, 1.4 on
//     Cyrillic, 1.8 on Arabic, 2.7 on Indic. Both added Chinese; Qwen and Gemma write
//     every digit as a token of its own, as Mistral's Tekken does.
//   - The others publish vocabularies of 100k to 262k entries trained alike; parallel
//     texts put them within 1.0 to 1.1 of o200k on English and up to 2 elsewhere
//     (tokenizer comparisons by language, 2025, such as korchasa's over eleven models).
//
// High is an upper estimate for text as people and tools write it, with about a tenth
// above the worst figure known. It is no bound for text made to break it; that bound is
// the number of bytes, which every one of these tokenizers keeps, and which is applied.
var factors = [families][kinds]band{
	FamilyUnknown: {
		words: {80, 108, 210}, digits: {70, 130, 300}, marks: {75, 110, 210}, blanks: {60, 105, 200}, dense: {70, 112, 200},
		european: {75, 125, 230}, cjk: {60, 115, 230}, scripts: {70, 150, 400}, symbols: {60, 120, 220},
	},
	FamilyClaude: {
		words: {92, 116, 138}, digits: {85, 120, 220}, marks: {85, 122, 150}, blanks: {70, 120, 160}, dense: {75, 110, 150},
		european: {95, 130, 185}, cjk: {80, 125, 190}, scripts: {90, 170, 320}, symbols: {80, 135, 210},
	},
	FamilyClaude47: {
		words: {100, 158, 210}, digits: {85, 128, 230}, marks: {90, 145, 205}, blanks: {75, 130, 200}, dense: {80, 120, 165},
		european: {95, 150, 230}, cjk: {80, 125, 195}, scripts: {90, 170, 320}, symbols: {80, 140, 215},
	},
	FamilyGemini: {
		words: {85, 103, 125}, digits: {100, 230, 300}, marks: {80, 108, 145}, blanks: {50, 100, 190}, dense: {85, 132, 180},
		european: {80, 105, 150}, cjk: {70, 98, 140}, scripts: {70, 115, 220}, symbols: {70, 110, 200},
	},
	FamilyLlama: {
		words: {92, 101, 115}, digits: {95, 102, 125}, marks: {90, 102, 125}, blanks: {80, 102, 130}, dense: {90, 105, 130},
		european: {90, 120, 170}, cjk: {85, 125, 185}, scripts: {85, 150, 330}, symbols: {80, 125, 190},
	},
	FamilyQwen: {
		words: {92, 101, 115}, digits: {100, 220, 300}, marks: {90, 102, 125}, blanks: {80, 105, 160}, dense: {90, 130, 180},
		european: {90, 130, 180}, cjk: {65, 95, 150}, scripts: {80, 160, 340}, symbols: {80, 125, 190},
	},
	FamilyMistral: {
		words: {90, 108, 145}, digits: {100, 230, 300}, marks: {85, 110, 150}, blanks: {60, 110, 200}, dense: {90, 130, 180},
		european: {80, 112, 165}, cjk: {75, 115, 230}, scripts: {75, 130, 350}, symbols: {75, 120, 210},
	},
	FamilyDeepSeek: {
		words: {90, 103, 125}, digits: {90, 103, 140}, marks: {85, 104, 135}, blanks: {70, 104, 150}, dense: {85, 108, 145},
		european: {90, 130, 185}, cjk: {65, 92, 140}, scripts: {85, 170, 350}, symbols: {75, 125, 200},
	},
	FamilyGrok: {
		words: {88, 104, 135}, digits: {85, 120, 300}, marks: {85, 108, 145}, blanks: {65, 105, 170}, dense: {80, 112, 160},
		european: {80, 120, 185}, cjk: {70, 110, 180}, scripts: {75, 140, 330}, symbols: {75, 120, 205},
	},
}

// estimate returns the tokens of a family for a text that o200k_base counts as m.
func (m *mix) estimate(f Family) (e Estimate) {
	if f.Exact() {
		return Exactly(m.total())
	}
	low, best, high := 0, 0, 0
	for k, b := range factors[f] {
		n, bytes := int(m.tokens[k]), 100*int(m.bytes[k])
		low += min(n*int(b.low), bytes)
		best += min(n*int(b.best), bytes)
		high += min(n*int(b.high), bytes)
	}
	return Estimate{low / 100, (best + 50) / 100, (high + 99) / 100}
}

// class is the main content of a message. Ratios of a provider's reports to our own counts are kept by class, since one learned on prose
// says little about a hexadecimal dump.
type class uint8

const (
	prose     class = iota // words
	structure              // punctuation, numbers and white space: code, JSON, tables
	packed                 // base64, hexadecimal, ids
	foreign                // not ASCII
	other                  // media and overhead, or nothing
	classes
	unread // of a message whose texts were not counted
)

// class returns the class of the text that has most of the tokens: packed data, foreign scripts, structure such as code, or prose.
func (m *mix) class() class {
	word, packs := m.tokens[words], m.tokens[dense]
	signs := m.tokens[digits] + m.tokens[marks] + m.tokens[blanks]
	alien := m.tokens[european] + m.tokens[cjk] + m.tokens[scripts] + m.tokens[symbols]
	all := word + packs + signs + alien
	switch {
	case all == 0:
		return other
	case packs*5 > all*2:
		return packed
	case alien*5 > all*2:
		return foreign
	// English has a seventh of its tokens in punctuation, code and JSON two fifths and more.
	case signs*10 > all*3:
		return structure
	}
	return prose
}
