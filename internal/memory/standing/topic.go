package standing

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/memory/index"
	"github.com/plimsoll/plimsoll/limit"
)

// Parts of a sentence that tell its topic.
var (
	languages = regexp.MustCompile(`\b(english|german|french|spanish|dutch|italian|portuguese|chinese|japanese|korean|russian|polish|turkish|arabic|czech|swedish|catalan|ukrainian|hindi|englisch|deutsch|französisch|spanisch|italienisch|niederländisch|portugiesisch|chinesisch|japanisch|russisch|polnisch|türkisch|inglés|alemán|francés|español|castellano|italiano|portugués|chino|japonés|ruso|catalán|language)\b|中文|英文|英语|汉语|德语|德文|法语|法文|西班牙语|日语|日文|韩语|俄语`)
	messages  = regexp.MustCompile(`commit|提交`)
	comments  = regexp.MustCompile(`\bcomment|kommentar|kommentier|comentario|注释`)
	documents = regexp.MustCompile(`\b(docs|documentation|dokumentation|documentación)\b|文档`)
	managers  = regexp.MustCompile(`\b(npm|pnpm|yarn|bun)\b`)
	pythons   = regexp.MustCompile(`\b(pip|uv|poetry|conda|pipenv)\b`)
	indents   = regexp.MustCompile(`\b(tabs?|spaces|indent|indentation|indenting|einrücken|leerzeichen|tabuladores|tabulaciones|sangría)\b|缩进|制表符`)
	lengths   = regexp.MustCompile(`\b(short|shorter|brief|briefly|concise|terse|long|longer|detailed|verbose|kurz|kürzer|kürzere|knapp|ausführlich|länger|breve|breves|cortas|corto|conciso|detallado)\b|简短|简洁|详细`)
	replies   = regexp.MustCompile(`\b(answer|reply|replies|respond|response|be|antwort|fass|responde|respuesta|contesta)|回答|回复`)
	emojis    = regexp.MustCompile(`\bemojis?\b|表情符号`)
	forms     = regexp.MustCompile(`\b(call me|address me|nenn(e)? mich|duze|duzen|sieze|siezen|llámame|tutea)|叫我|称呼我`)
	asking    = regexp.MustCompile(`\b(ask|asking|permission|approval|consent|confirm|fragen|frag|rückfrage|erlaubnis|preguntar|preguntarme|pregúntame|permiso)\b|问我|允许|同意|询问`)
	acts      = []struct {
		name string
		is   *regexp.Regexp
	}{
		{"commit", messages}, {"push", regexp.MustCompile(`\bpush|推送`)}, {"deploy", regexp.MustCompile(`\bdeploy|despleg|部署`)},
		{"install", regexp.MustCompile(`\binstal|安装`)}, {"delete", regexp.MustCompile(`\b(delet|remov|lösch|borr|elimin)|删除`)},
		{"refactoring", regexp.MustCompile(`\brefactor`)}, {"merge", regexp.MustCompile(`\bmerg|合并`)},
	}
	markers = regexp.MustCompile(`\b(always|never|ever|please|dont|do not|immer|stets|nie|niemals|bitte|siempre|nunca|jamás|por favor|no|not|nicht|keine?)\b`)
)

// topicOf returns the topic of an instruction, and whether it holds in any project.
func topicOf(s string) (topic string, everywhere bool) {
	low := strings.ToLower(s)
	switch {
	case forms.MatchString(low):
		return "form of address", true
	case languages.MatchString(low):
		switch {
		case messages.MatchString(low):
			return "language of commit messages", false
		case comments.MatchString(low):
			return "language of comments", false
		case documents.MatchString(low):
			return "language of documentation", false
		}
		return "language of answers", true
	case emojis.MatchString(low) && !messages.MatchString(low):
		return "emojis", true
	case managers.MatchString(low):
		return "package manager", false
	case pythons.MatchString(low):
		return "package manager of Python", false
	case indents.MatchString(low):
		return "indentation", false
	case lengths.MatchString(low) && replies.MatchString(low):
		return "length of answers", true
	case asking.MatchString(low):
		for _, a := range acts {
			if a.is.MatchString(low) {
				return "asking before " + a.name, false
			}
		}
	}
	low = markers.ReplaceAllString(lasting.ReplaceAllString(strings.ReplaceAll(low, "'", ""), " "), " ")
	var terms []string
	var words index.Words
	words.Each(low, func(term []byte) {
		if !slices.Contains(terms, string(term)) {
			terms = append(terms, string(term))
		}
	})
	slices.Sort(terms)
	return cmp.Or(limit.Clip(strings.Join(terms, " "), 200), "instruction"), false
}
