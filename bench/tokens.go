package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

// The library takes half a second for a megabyte; on a text of one letter it needs
// quadratic time, so it gets the first few kilobytes of those.
const (
	tokenText      = 1 << 20
	tokenBaseline  = 64 << 10
	tokenHostile   = 4 << 10
	tokenRounds    = 9
	tokenRoundTime = 20 * time.Millisecond
)

type tokenCase struct {
	name    string
	text    []byte
	hostile bool
}

// benchTokens measures how fast tokens are counted, against tiktoken-go, and checks that both have the same number. An argument picks the
// texts with names that contain it.
func benchTokens(o *Out, args []string) {
	only := strings.Join(args, " ")
	live := liveHeap()
	encodings := []*tokens.Encoding{tokens.O200K(), tokens.CL100K()}
	for _, e := range encodings {
		e.Count([]byte("first use"))
	}
	after := liveHeap()
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	libraries := map[string]*tiktoken.Tiktoken{}
	for _, e := range encodings {
		libraries[e.Name()] = must(tiktoken.GetEncoding(e.Name()))
	}
	o.Add(Row{
		Case: "both encodings", Metric: "live heap after first use", Value: float64(after - live), Unit: "B",
		Baseline: "tiktoken-go", BaselineValue: float64(liveHeap() - after),
	})
	code, prose := tokenSources()
	cases := tokenCases(code, prose)
	for _, e := range encodings {
		lib := libraries[e.Name()]
		for _, c := range cases {
			check(o.ctx.Err())
			if !strings.Contains(c.name, only) {
				continue
			}
			base := c.text[:min(len(c.text), tokenBaseline)]
			if c.hostile {
				base = c.text[:tokenHostile]
			}
			base = bytes.ToValidUTF8(base, nil)
			if got, want := e.Count(base), len(lib.EncodeOrdinary(string(base))); got != want {
				o.Fatalf("%s %s: %d tokens, tiktoken-go has %d", e.Name(), c.name, got, want)
			}
			ours, oursAllocs := tokenSpeed(c.text, func(text []byte) { e.Count(text) })
			theirs, theirsAllocs := tokenSpeed(base, func(text []byte) { lib.EncodeOrdinary(string(text)) })
			name := e.Name() + " " + c.name
			o.Add(Row{Case: name, Metric: "speed", Value: ours, Unit: "MB/s", Baseline: "tiktoken-go", BaselineValue: theirs})
			o.Add(Row{Case: name, Metric: "allocations", Value: oursAllocs, Unit: "per MB", Baseline: "tiktoken-go", BaselineValue: theirsAllocs})
			if c.hostile {
				continue
			}
			literal := must(json.Marshal(string(c.text)))
			speed, allocs := tokenSpeed(literal, func(text []byte) { e.CountLiteral(text) })
			o.Add(Row{Case: name + " (literal)", Metric: "speed", Value: speed, Unit: "MB/s"})
			o.Add(Row{Case: name + " (literal)", Metric: "allocations", Value: allocs, Unit: "per MB"})
		}
	}
	if strings.Contains("300 KB request", only) {
		benchTally(o, code, prose)
	}
	o.Note("Both count the same text on one core in turn, best of %d rounds; every figure was checked for the same number of tokens.", tokenRounds)
	o.Note("The library gets the first %d KB of a text, and %d KB of a hostile one, for which its merging is quadratic.", tokenBaseline>>10, tokenHostile>>10)
}

// benchTally times a whole request of 300 KB: never seen, and seen before with one new
// message. The baseline is hashing the body once.
func benchTally(o *Out, code, prose []byte) {
	request := func(size int) *wire.Request {
		var messages []map[string]any
		for at := 0; at < size; at += 3000 {
			id := fmt.Sprint("call_", at)
			messages = append(messages,
				map[string]any{"role": "assistant", "content": string(prose[at/3 : at/3+500]), "tool_calls": []any{map[string]any{
					"id": id, "type": "function", "function": map[string]any{"name": "read", "arguments": `{"path":"main.go"}`},
				}}},
				map[string]any{"role": "tool", "tool_call_id": id, "content": string(code[at : at+2200])})
		}
		return must(wire.Parse(wire.Chat, must(json.Marshal(map[string]any{"model": "gpt-4o", "messages": messages}))))
	}
	seen, longer := request(300<<10), request(303<<10)
	seed := maphash.MakeSeed()
	hashing := least(func() {}, func() { maphash.Bytes(seed, longer.Body) })
	for _, f := range []tokens.Family{tokens.FamilyO200K, tokens.FamilyClaude} {
		var c *tokens.Counter
		add := func(metric string, took time.Duration) {
			o.Add(Row{Case: "300 KB request, " + f.String(), Metric: metric, Value: us(took) / 1000, Unit: "ms", Baseline: "maphash", BaselineValue: us(hashing) / 1000})
		}
		fresh := func() { c = tokens.NewCounter(tokens.Options{}) }
		tally := func() { c.Tally(longer, f) }
		add("never seen", least(fresh, tally))
		add("seen, one new turn", least(func() { fresh(); c.Tally(seen, f) }, tally))
		add("seen", least(func() {}, tally))
	}
}

// least returns the shortest of many runs, each after prepare.
func least(prepare, run func()) time.Duration {
	shortest := time.Hour
	for range 60 {
		prepare()
		start := time.Now()
		run()
		shortest = min(shortest, time.Since(start))
	}
	return shortest
}

// tokenSpeed returns megabytes (10^6) a second, the best round, and allocations per megabyte.
func tokenSpeed(text []byte, count func([]byte)) (speed, allocations float64) {
	count(text)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	done := 0
	for range tokenRounds {
		start, n := time.Now(), 0
		for n == 0 || time.Since(start) < tokenRoundTime {
			count(text)
			n++
		}
		done += n
		speed = max(speed, float64(n*len(text))/1e6/time.Since(start).Seconds())
	}
	runtime.ReadMemStats(&after)
	return speed, float64(after.Mallocs-before.Mallocs) / (float64(done*len(text)) / 1e6)
}

// letterBetween picks letters of a range.
func letterBetween(rng *rand.Rand, from, to rune) func() rune {
	return func() rune {
		for {
			if r := from + rune(rng.IntN(int(to-from))); unicode.IsLetter(r) {
				return r
			}
		}
	}
}

// tokenCases returns the texts: code and prose, made-up JSON, several scripts, and hostile ones that a slow merge would take long for.
func tokenCases(code, prose []byte) []tokenCase {
	rng := rand.New(rand.NewPCG(1, 2))
	var cases []tokenCase
	add := func(name string, text []byte) {
		cases = append(cases, tokenCase{name: name, text: bytes.ToValidUTF8(text[:min(len(text), tokenText)], nil)})
	}
	add("english", prose)
	add("go", code)
	var b bytes.Buffer
	for b.Len() < tokenText {
		b.Write(must(json.MarshalIndent(map[string]any{
			"id": rng.IntN(1e9), "name": fmt.Sprintf("pod-%x", rng.Uint32()), "ready": rng.IntN(2) == 0, "ratio": rng.Float64(),
			"labels": map[string]any{"app.kubernetes.io/name": "guestbook", "tier": []string{"frontend", "web"}}, "phase": "Running",
			"message": fmt.Sprintf("back-off %ds restarting failed container=web-%d", rng.IntN(300), rng.IntN(99)), "at": "2026-11-20T18:15:23Z",
		}, "", "  ")))
		b.WriteByte('\n')
	}
	add("json", b.Bytes())
	random := make([]byte, tokenText)
	for i := range random {
		random[i] = byte(rng.IntN(256))
	}
	add("base64", []byte(base64.StdEncoding.EncodeToString(random)))
	add("hexdump", []byte(hex.Dump(random[:tokenText/4])))
	for _, script := range []struct{ name, words string }{
		{"chinese", "上下文 窗口 的 令牌 计数 必须 精确 我们 在 这里 可以 看到 一个 新的 方法 用来 处理 大量 数据 ， 。 因为 系统 需要 知道 多少 时间 和 内存 问题 中国 人民 世界 经济 发展 技术"},
		{"japanese", "これは トークン を 数える ため の 文章 です 。 東京 で 世界 、 私たち は 新しい 方法 が 必要 ある という こと 日本語 データ 処理"},
		{"russian", "съешь\u00a0 ещё\u00a0 этих\u00a0 мягких\u00a0 французских\u00a0 булок\u00a0 да\u00a0 выпей\u00a0 чаю\u00a0 система\u00a0 должна\u00a0 считать\u00a0 быстро\u00a0 и\u00a0 точно\u00a0 контекст\u00a0"},
		{"arabic", "السلام\u00a0 عليكم\u00a0 ورحمة\u00a0 الله\u00a0 يجب\u00a0 أن\u00a0 يكون\u00a0 العدد\u00a0 دقيقا\u00a0 النظام\u00a0 يحتاج\u00a0 إلى\u00a0 معرفة\u00a0 الوقت\u00a0"},
		{"hindi", "नमस्ते\u00a0 दुनिया\u00a0 यह\u00a0 एक\u00a0 परीक्षण\u00a0 है\u00a0 हमें\u00a0 सही\u00a0 गिनती\u00a0 चाहिए\u00a0 क्षेत्र\u00a0 ज्ञान\u00a0"},
		{"emoji", "👩‍👩‍👧‍👦 🇩🇪🇯🇵 👍🏽 ❤️ 🏳️‍🌈 1️⃣ ok\u00a0 ✓ → 😀 🎉\u00a0 🚀"},
	} {
		words := strings.Fields(strings.ReplaceAll(script.words, "\u00a0", "_"))
		b.Reset()
		for b.Len() < tokenText {
			b.WriteString(strings.ReplaceAll(words[rng.IntN(len(words))], "_", " "))
		}
		add(script.name, bytes.Clone(b.Bytes()))
	}
	runes := make([]rune, tokenText/4)
	for i := range runes {
		runes[i] = rune(0x80 + rng.IntN(0xd780))
	}
	add("random characters", []byte(string(runes)))
	// Letters of every script without anything between them are one long piece, which is merged as a whole; characters of all
	// planes are mostly none that a vocabulary has.
	for _, of := range []struct {
		name string
		pick func() rune
	}{
		{"random letters of two bytes", letterBetween(rng, 0x80, 0x800)},
		{"random letters", letterBetween(rng, 0x80, 0xd7ff)},
		{"random characters of all planes", func() rune { return rune(0x80 + rng.IntN(unicode.MaxRune-0x80)) }},
		{"random words of two-byte letters", func() rune {
			if rng.IntN(6) == 0 {
				return ' '
			}
			return letterBetween(rng, 0x80, 0x800)()
		}},
	} {
		b.Reset()
		for b.Len() < tokenText/4 {
			b.WriteRune(of.pick())
		}
		add(of.name, bytes.Clone(b.Bytes()))
	}
	for _, h := range []struct{ name, unit string }{
		{"one letter", "a"},
		{"spaces", " "},
		{"newlines", "\n"},
		{"digits", "7"},
		{"dashes", "-"},
		{"marks", "\u0301"},
		{"one ideograph", "中"},
		{"rare ideographs", "龘靐齉"},
	} {
		cases = append(cases, tokenCase{name: h.name, text: []byte(strings.Repeat(h.unit, tokenText/len(h.unit))), hostile: true})
	}
	return cases
}

// tokenSources returns Go source, and the English of its comments joined to paragraphs.
func tokenSources() (code, prose []byte) {
	dir := goSources()
	for _, folder := range []string{"net/http", "go/types", "crypto/tls", "runtime", "os", "reflect", "encoding/json", "time"} {
		for _, name := range must(filepath.Glob(filepath.Join(dir, folder, "*.go"))) {
			text := must(os.ReadFile(name))
			if len(code) < tokenText {
				code = append(code, text[:min(len(text), 64<<10)]...)
			}
			for line := range bytes.Lines(text) {
				if comment, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("// ")); ok {
					prose = append(append(prose, comment...), ' ')
				} else if n := len(prose); n > 0 && prose[n-1] == ' ' {
					prose[n-1] = '\n'
				}
			}
		}
	}
	return code, prose
}
