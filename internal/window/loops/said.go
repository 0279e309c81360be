package loops

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/window/topic"
	"github.com/plimsoll/plimsoll/window/wire"
)

const (
	// maxTail bounds what is read of an answer, from its end, in bytes.
	maxTail = 8 << 10
	// sentenceBytes and sentenceLetters are the least that a sentence has to have: shorter ones stand in lists and tables often.
	sentenceBytes, sentenceLetters = 16, 10
	// saidTimes is the number of times in a row that make a sentence, or two or three in turn, a loop.
	saidTimes = 6
	// maxSaid bounds the answers that are compared.
	maxSaid = DefaultWindow
)

// repeatsSentence returns a loop if the newest answer repeats one sentence, or two or three in turn, at its end; false if not.
func (x *reading) repeatsSentence() (Loop, bool) {
	if x.answer < 0 {
		return Loop{}, false
	}
	for i := x.answer; i >= 0 && x.r.Messages[i].Role == wire.RoleAssistant; i-- {
		m := &x.r.Messages[i]
		for k := range m.Parts {
			p := &m.Parts[k]
			if p.Kind != wire.Text || len(p.Texts) == 0 || !p.Raw.IsZero() {
				continue
			}
			sentence := repeatedSentence(x.r.Raw(p.Texts[len(p.Texts)-1]))
			if sentence == "" {
				continue
			}
			l := Loop{Message: -1, Answered: len(x.steps) == 0, Finding: Finding{
				Kind:   KindSaid,
				Nudge:  "Your last answer said the same sentence again and again. Saying it once more will change nothing. " + advice,
				Detail: fmt.Sprintf("an answer of the model says %q at least %d times in a row", clipName(sentence), saidTimes),
			}}
			if len(x.steps) > 0 {
				l.Message = newestResult(x.steps[0])
			}
			return l, true
		}
	}
	return Loop{}, false
}

// repeatedSentence returns the sentence that a JSON string literal repeats at its end; "" if there is none. The last one may be cut off.
func repeatedSentence(literal []byte) string {
	if len(literal) < saidTimes*sentenceBytes {
		return ""
	}
	raw := literal[max(0, len(literal)-maxTail):]
	if len(raw) == len(literal) {
		raw = raw[1:]
	}
	text := string(wire.Unquote(nil, append(append([]byte{'"'}, bytes.TrimSuffix(raw, []byte(`"`))...), '"')))
	if strings.Contains(text, "```") { // code repeats itself
		return ""
	}
	list := sentences(text)
	for drop := range 2 {
		all := list[:max(0, len(list)-drop)]
		for period := 1; period <= maxCycle; period++ {
			n := saidTimes * period
			if len(all) < n {
				continue
			}
			last := all[len(all)-n:]
			same := isSentence(last[0])
			for i := period; i < n && same; i++ {
				same = last[i] == last[i-period]
			}
			if same {
				return last[0]
			}
		}
	}
	return ""
}

// sentences splits a text into sentences, without white space around them. A line end ends a sentence too.
func sentences(text string) (list []string) {
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(".!?\n\r。！？", r) }) {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// isSentence reports whether a text has enough letters to be a sentence.
func isSentence(text string) bool {
	letters := 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
			if utf8.RuneLen(r) > 2 { // a script of which a letter is a word, or nearly
				letters++
			}
		}
	}
	return len(text) >= sentenceBytes && letters >= sentenceLetters && (strings.Contains(text, " ") || letters > 2*len([]rune(text))-4)
}

// repeatsAnswer returns a loop if the newest answer repeats a sentence, or if the model gave the same answer to the same words of the user
// several times without a call in between.
func (x *reading) repeatsAnswer() (Loop, bool) {
	if l, ok := x.repeatsSentence(); ok {
		return l, true
	}
	var newest [2]uint64
	times, i := 0, len(x.r.Messages)-1
	for n := 0; n < maxSaid && i >= 0; n++ {
		var reply, answer maphash.Hash
		reply.SetSeed(seed)
		answer.SetSeed(seed)
		words := false
		for ; i >= 0 && x.r.Messages[i].Role != wire.RoleAssistant; i-- {
			if x.r.Messages[i].Role != wire.RoleUser {
				continue
			}
			if text := topic.Words(x.r, i); text != "" {
				words = true
				_, _ = reply.WriteString(text)
			}
		}
		size, called := 0, false
		for ; i >= 0 && x.r.Messages[i].Role == wire.RoleAssistant; i-- {
			m := &x.r.Messages[i]
			for k := range m.Parts {
				switch p := &m.Parts[k]; p.Kind {
				case wire.Call:
					called = true
				case wire.Text:
					for _, s := range p.Texts {
						size += s.Len()
						_, _ = answer.Write(x.r.Raw(s))
					}
				}
			}
		}
		pair := [2]uint64{reply.Sum64(), answer.Sum64()}
		if called || !words || size < sentenceBytes {
			break
		}
		if n == 0 {
			newest = pair
		}
		if pair == newest {
			times++
		}
	}
	return Loop{Message: -1, Again: times > DefaultIdentical, Finding: Finding{
		Kind:   KindSaid,
		Nudge:  "You have given the same answer again and again. " + advice,
		Detail: fmt.Sprintf("the model gave the same answer to the same words %d times", times),
	}}, times >= DefaultIdentical
}

// newestResult returns the index of the message with the last result of a step.
func newestResult(step []madeCall) int {
	at := 0
	for _, c := range step {
		at = max(at, c.message)
	}
	return at
}
