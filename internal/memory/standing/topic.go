package standing

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/internal/memory/index"
	"github.com/plimsoll/plimsoll/limit"
)

// Parts of a sentence that tell its topic.
var (
	languages = lazy.Regexp(`\b(english|german|french|spanish|dutch|italian|portuguese|chinese|japanese|korean|russian|polish|turkish|arabic|czech|swedish|catalan|ukrainian|hindi|englisch|deutsch|französisch|spanisch|italienisch|niederländisch|portugiesisch|chinesisch|japanisch|russisch|polnisch|türkisch|inglés|alemán|francés|español|castellano|italiano|portugués|chino|japonés|ruso|catalán|language)\b|中文|英文|英语|汉语|德语|德文|法语|法文|西班牙语|日语|日文|韩语|俄语`)
	messages  = lazy.Regexp(`commit|提交`)
	comments  = lazy.Regexp(`\bcomment|kommentar|kommentier|comentario|注释`)
	documents = lazy.Regexp(`\b(docs|documentation|dokumentation|documentación)\b|文档`)
	managers  = lazy.Regexp(`\b(npm|pnpm|yarn|bun)\b`)
	pythons   = lazy.Regexp(`\b(pip|uv|poetry|conda|pipenv)\b`)
	indents   = lazy.Regexp(`\b(tabs?|spaces|indent|indentation|indenting|einrücken|leerzeichen|tabuladores|tabulaciones|sangría)\b|缩进|制表符`)
	lengths   = lazy.Regexp(`\b(short|shorter|brief|briefly|concise|terse|long|longer|detailed|verbose|kurz|kürzer|kürzere|knapp|ausführlich|länger|breve|breves|cortas|corto|conciso|detallado)\b|简短|简洁|详细`)
	replies   = lazy.Regexp(`\b(answer|reply|replies|respond|response|be|antwort|fass|responde|respuesta|contesta)|回答|回复`)
	emojis    = lazy.Regexp(`\bemojis?\b|表情符号`)
	forms     = lazy.Regexp(`\b(call me|address me|nenn(e)? mich|duze|duzen|sieze|siezen|llámame|tutea)|叫我|称呼我`)
	asking    = lazy.Regexp(`\b(ask|asking|permission|approval|consent|confirm|fragen|frag|rückfrage|erlaubnis|preguntar|preguntarme|pregúntame|permiso)\b|问我|允许|同意|询问`)
	acts      = []struct {
		name string
		is   func() *regexp.Regexp
	}{
		{"commit", messages},
		{"push", lazy.Regexp(`\bpush|推送`)},
		{"deploy", lazy.Regexp(`\bdeploy|despleg|部署`)},
		{"install", lazy.Regexp(`\binstal|安装`)},
		{"delete", lazy.Regexp(`\b(delet|remov|lösch|borr|elimin)|删除`)},
		{"refactoring", lazy.Regexp(`\brefactor`)},
		{"merge", lazy.Regexp(`\bmerg|合并`)},
	}
	markers = lazy.Regexp(`\b(always|never|ever|please|dont|do not|immer|stets|nie|niemals|bitte|siempre|nunca|jamás|por favor|no|not|nicht|keine?)\b`)
)

// topicOf returns the topic of an instruction, and whether it holds in any project.
func topicOf(s string) (topic string, everywhere bool) {
	low := strings.ToLower(s)
	switch {
	case forms().MatchString(low):
		return "form of address", true
	case languages().MatchString(low):
		switch {
		case messages().MatchString(low):
			return "language of commit messages", false
		case comments().MatchString(low):
			return "language of comments", false
		case documents().MatchString(low):
			return "language of documentation", false
		}
		return "language of answers", true
	case emojis().MatchString(low) && !messages().MatchString(low):
		return "emojis", true
	case managers().MatchString(low):
		return "package manager", false
	case pythons().MatchString(low):
		return "package manager of Python", false
	case indents().MatchString(low):
		return "indentation", false
	case lengths().MatchString(low) && replies().MatchString(low):
		return "length of answers", true
	case asking().MatchString(low):
		for _, a := range acts {
			if a.is().MatchString(low) {
				return "asking before " + a.name, false
			}
		}
	}
	low = markers().ReplaceAllString(lasting().ReplaceAllString(strings.ReplaceAll(low, "'", ""), " "), " ")
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

var (
	// fromNow begins a sentence about the time to come, as an order to who listens.
	fromNow = lazy.Regexp(`^(请|麻烦)?你?(以后|今后|从现在开始|从现在起|从今以后|从今往后|往后)[，,]?(.*)$`)
	// forever begins one that holds always or never.
	forever = lazy.Regexp(`^(请|麻烦)?(你)?(以后|今后)?(请)?(永远不要|永远别|绝对不要|绝不要|千万不要|千万别|切勿|始终|一直|总是|永远|一律|每次)(.*)$`)
	// order follows then, with a thing that an agent does.
	order = lazy.Regexp(`^(请|麻烦|你|都|要|一律|只|必须|务必|先|不要再|不要|别再|别|尽量|直接)*(使用|用|回答|回复|说|写|问|提交|推送|运行|跑|称呼|叫我|解释|安装|删除|修改|部署|测试|格式化|询问|确认|道歉|提交信息|注释|合并|添加|简短|简洁|保持)`)
	// workTime is an occasion of the agent's own work.
	workTime = lazy.Regexp(`^(请|你)?(在)?(提交|推送|部署|安装|删除|修改|合并|改|写|回答)[^，,]{0,8}?(之前|以前|之后|以后|前|后|时|的时候)[，,]?(.*)$`)
	// topical is a thing of the agent's work about which the order is.
	topical  = lazy.Regexp(`^(请|你)?(回答|回复|提交信息|注释|代码里?|写注释|写代码|提交|文档|变量名)(都|要|一律|请|只|尽量)?(.*)$`)
	notLater = lazy.Regexp(`再说|再看|可能|也许|会|想|吗|呢|这个|这次|本次|这里|此处|今天|接口|版本|函数|为什么|按钮|页面|改成|null|nil`)
)

// inChinese reports whether a sentence in Chinese is a standing instruction.
func inChinese(s string) bool {
	s = strings.TrimRight(strings.Join(strings.Fields(s), ""), "。！；.!;")
	for _, filler := range []string{"好的，", "谢谢，", "另外，", "还有，", "对了，", "注意：", "记住：", "记住，", "另外", "还有"} {
		s = strings.TrimPrefix(s, filler)
	}
	if notLater().MatchString(s) {
		return false
	}
	if m := fromNow().FindStringSubmatch(s); m != nil {
		return ordered(m[3])
	}
	m := forever().FindStringSubmatch(s)
	if m == nil {
		if rest, ok := strings.CutPrefix(s, "你"); ok {
			m = forever().FindStringSubmatch(rest)
		}
		if m == nil {
			return false
		}
	}
	if m[5] == "每次" {
		w := workTime().FindStringSubmatch(m[6])
		return w != nil && ordered(w[5])
	}
	return ordered(m[6])
}

// ordered reports whether words tell an agent to do something, or when or about what it is to do so.
func ordered(s string) bool {
	s = strings.TrimLeft(s, "，,")
	if w := workTime().FindStringSubmatch(s); w != nil && ordered(w[5]) {
		return true
	}
	if t := topical().FindStringSubmatch(s); t != nil && t[4] != "" && (order().MatchString(t[4]) || t[3] != "") {
		return true
	}
	return order().MatchString(s)
}
