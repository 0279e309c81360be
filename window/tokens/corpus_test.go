package tokens

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// sample is a text of one kind.
type sample struct {
	name string
	text []byte
}

// sources returns about max bytes of Go files of the standard library.
func sources(t testing.TB, max int) []byte {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("no Go sources to count: %v", err)
	}
	var b bytes.Buffer
	for _, dir := range []string{"net/http", "encoding/json", "go/types", "unicode", "crypto/tls", "html", "regexp/syntax"} {
		names, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text := testfile.Read(t, name)
			b.Write(text[:min(len(text), max/20)])
			if b.Len() >= max {
				return bytes.ToValidUTF8(b.Bytes(), nil)
			}
		}
	}
	if b.Len() == 0 {
		t.Skip("no sources under GOROOT to count")
	}
	return bytes.ToValidUTF8(b.Bytes(), nil)
}

// vocabularyOf are words that are joined in random order into texts of the size wanted. Each list has what the
// patterns and merges of its script turn on: marks, case, digits of its own, punctuation.
var vocabularyOf = map[string]string{
	"english":  "the of and to a in that it was for on are with as I his they be at one have this from or had by hot but some what there we can out other were all your when up use word how said an each she which do their time if will way about many then them would write like so these her long make thing see him two has look more day could go come did my sound no most number who over know water than call first people may down side been now find any new work part take get place made live where after back little only round man year came show every good me give our under name very through just form much great think say help low line before turn cause same mean differ move right boy old too does tell sentence set three want air well also play small end put home read hand port large spell add even land here must big high such follow act why ask men change went light kind off need house picture try us again animal point mother world near build self earth father don't I'll we've it's they'd HTTP McDonald iPhone e-mail co-operate naïve résumé façade 3.14 1,234 2024",
	"cjk":      "上下文窗口 的 令牌 计数，必须精确。 你好世界！ 一万二千三百四十五 こんにちは 世界、 トークン を 数える カタカナ ー 々 東京都 안녕하세요 세계 한국어 토큰 화, １２３ ＡＢＣ ｶﾅ 繁體中文 測試 「引号」 《书名》 …… 価格は￥1,200です。 𠮷野家 㐀 ",
	"arabic":   "السلام عليكم ورحمة الله وبركاته كيف حالك؟ هَذَا نَصٌّ مُشَكَّلٌ ١٢٣٤ العربية، لغة شلام עברית שָׁלוֹם עוֹלָם فارسی می\u200cخواهم \u200c",
	"indic":    "नमस्ते दुनिया यह एक परीक्षण है। क्षेत्र ज्ञान १२३ हिन्दी বাংলা ভাষা தமிழ் மொழி తెలుగు ಕನ್ನಡ ไทยภาษาเขียนติดกันไม่มีช่องว่าง ကမ္ဘာ ភាសាខ្មែរ සිංහල አማርኛ",
	"cyrillic": "Съешь же ещё этих мягких французских булок, да выпей чаю. ВОЙНА И МИР Ǆ ǅ ǆ Ελληνικά ΓΛΩΣΣΑ σίγμα Türkçe İstanbul ıssız Straße ẞ ſpäter it'ſ DON'T WE'VE THEY'LL I'M HE'D 'S 'LL l'été",
	"emoji":    "👩\u200d👩\u200d👧\u200d👦 🇩🇪🇯🇵 👍🏽 ❤\ufe0f 🏳\ufe0f\u200d🌈 1\ufe0f⃣ ☺ ✓ → ∑ ½ Ⅷ ² ① 🤷🏾\u200d♂\ufe0f © ™ • — … “quotes” ‘s ’s \u200b \ufeff é ̈́x A̋BC aÁb",
	"code":     "func(x) { return } if (a==b) && !c || d?.e ?? f; <div class=\"x\"> </div> // comment\n /* block */ #include <stdio.h>\n\t\t\tfor(;;){}\r\n  self.__init__(**kwargs) -> None: 0xFFFF 1e-9 $HOME ${x} @decorator \\n \\\\ a_b_c camelCaseWord XMLHttpRequest HTTPServer2 ///// -----\n/==== \n\n\n    \n",
}

func mixture(rng *rand.Rand, list string, n int) []byte {
	all := strings.Fields(list)
	seps := []string{" ", " ", " ", " ", " ", "", "\n", "\n\n", ", ", ". ", "  ", "\t", "\r\n", " \n ", "'", "/", "\u00a0", "\u3000"}
	var b bytes.Buffer
	for b.Len() < n {
		b.WriteString(all[rng.IntN(len(all))])
		b.WriteString(seps[rng.IntN(len(seps))])
	}
	return b.Bytes()
}

// alphabet are characters of every class, from which random texts hit every corner of the
// patterns.
var alphabet = []rune("aAbB sStT'rReEvVlLmMdD 09١½Ⅷ .,!/\\-_(){}\"\n\r\t \v\u0085\u00a0\u2028\u3000ſKİıßẞǅʰªº中あ한अ्ािٌَّ\u0301\u0308\u20e3\ufe0f\u200d👍🏽\ufffd\x00\x1c\u180e\ufeff𝐀𝒂𐐀𐐨")

func randomText(rng *rand.Rand, n int) []byte {
	runes := make([]rune, n)
	for i := range runes {
		runes[i] = alphabet[rng.IntN(len(alphabet))]
	}
	return []byte(string(runes))
}

// corpus returns texts of every kind, each of about size bytes.
func corpus(t testing.TB, size int) []sample {
	rng := rand.New(rand.NewPCG(1, 2))
	random := make([]byte, size)
	for i := range random {
		random[i] = byte(rng.IntN(256))
	}
	var all []sample
	add := func(name string, text []byte) { all = append(all, sample{name, text[:min(len(text), size)]}) }
	add("go", sources(t, size))
	for _, name := range []string{"english", "cjk", "arabic", "indic", "cyrillic", "emoji", "code"} {
		add(name, bytes.ToValidUTF8(mixture(rng, vocabularyOf[name], size)[:size], nil))
	}
	var mixed []byte
	for len(mixed) < size {
		for _, name := range []string{"english", "cjk", "arabic", "indic", "cyrillic", "emoji", "code"} {
			mixed = append(mixed, mixture(rng, vocabularyOf[name], 60)...)
		}
	}
	add("mixed", bytes.ToValidUTF8(mixed[:size], nil))
	add("json", jsonText(rng, size))
	add("markdown", bytes.Repeat([]byte("# Title\n\n* item **bold** `code`\n  - nested [link](https://example.org/a?b=c&d=%20)\n\n| a | b |\n|---|---|\n| 1 | 2.5 |\n\n```go\nx := map[string]int{\"a\": 1}\n```\n"), size/150+1))
	add("base64", []byte(base64.StdEncoding.EncodeToString(random)))
	add("hexdump", []byte(hex.Dump(random)))
	add("hex", []byte(hex.EncodeToString(random)))
	add("minified", bytes.Repeat([]byte("!function(e,t){\"object\"==typeof exports?module.exports=t():e.x=t()}(this,function(){for(var e=0,n=[];e<9;)n.push(e++);return n.map(function(e){return e<<2^0x1F})});"), size/150+1))
	runes := make([]rune, size/3)
	for i := range runes {
		for {
			if r := rune(rng.IntN(0x110000)); r < 0xd800 || r > 0xdfff {
				runes[i] = r
				break
			}
		}
	}
	add("any character", []byte(string(runes)))
	add("alphabet", randomText(rng, size/2))
	for i := range all {
		all[i].text = bytes.ToValidUTF8(all[i].text, nil)
	}
	return all
}

func jsonText(rng *rand.Rand, size int) []byte {
	var b bytes.Buffer
	for b.Len() < size {
		line, _ := json.MarshalIndent(map[string]any{
			"id": rng.IntN(1e9), "name": fmt.Sprintf("pod-%x", rng.Uint32()), "ok": rng.IntN(2) == 0,
			"labels": map[string]any{"app.kubernetes.io/name": "guestbook", "tier": []string{"frontend", "web"}},
			"ratio":  rng.Float64(), "when": "2026-11-20T18:15:23Z", "message": string(mixture(rng, vocabularyOf["english"], 40)),
		}, "", "  ")
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// hostile returns texts that naive merging needs quadratic time for.
func hostile(n int) []sample {
	repeat := func(s string) []byte { return []byte(strings.Repeat(s, n/len(s))) }
	return []sample{
		{"letter a", repeat("a")},
		{"letter A", repeat("A")},
		{"spaces", repeat(" ")},
		{"tabs", repeat("\t")},
		{"digits", repeat("7")},
		{"newlines", repeat("\n")},
		{"crlf", repeat("\r\n")},
		{"spaces and newlines", repeat("   \n")},
		{"marks", repeat("\u0301")},
		{"cjk one", repeat("中")},
		{"cjk rare", repeat("龘靐齉")},
		{"dashes", repeat("-")},
		{"punctuation", repeat("---.")},
		{"quotes", repeat("'")},
		{"apostrophe s", repeat("'s")},
		{"emoji", repeat("👩‍👩‍👧‍👦")},
		{"ab", repeat("ab")},
		{"abcdefg", repeat("abcdefghijklmnopqrstuvwxyz")},
		{"upper after caseless", append([]byte("中"), repeat("A")...)},
		{"caseless upper", repeat("中A")},
		{"slashes and newlines", repeat("//\n")},
		{"nul", repeat("\x00")},
		{"thai", repeat("ไทยภาษาเขียนติดกัน")},
	}
}
