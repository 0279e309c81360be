package standing

import (
	"regexp"
	"strings"
)

var (
	// fromNow begins a sentence about the time to come, as an order to who listens.
	fromNow = regexp.MustCompile(`^(请|麻烦)?你?(以后|今后|从现在开始|从现在起|从今以后|从今往后|往后)[，,]?(.*)$`)
	// forever begins one that holds always or never.
	forever = regexp.MustCompile(`^(请|麻烦)?(你)?(以后|今后)?(请)?(永远不要|永远别|绝对不要|绝不要|千万不要|千万别|切勿|始终|一直|总是|永远|一律|每次)(.*)$`)
	// order is what follows then: what an agent does.
	order = regexp.MustCompile(`^(请|麻烦|你|都|要|一律|只|必须|务必|先|不要再|不要|别再|别|尽量|直接)*(使用|用|回答|回复|说|写|问|提交|推送|运行|跑|称呼|叫我|解释|安装|删除|修改|部署|测试|格式化|询问|确认|道歉|提交信息|注释|合并|添加|简短|简洁|保持)`)
	// workTime is an occasion of the agent's own work.
	workTime = regexp.MustCompile(`^(请|你)?(在)?(提交|推送|部署|安装|删除|修改|合并|改|写|回答)[^，,]{0,8}?(之前|以前|之后|以后|前|后|时|的时候)[，,]?(.*)$`)
	// topical is a thing of the agent's work about which the order is.
	topical  = regexp.MustCompile(`^(请|你)?(回答|回复|提交信息|注释|代码里?|写注释|写代码|提交|文档|变量名)(都|要|一律|请|只|尽量)?(.*)$`)
	notLater = regexp.MustCompile(`再说|再看|可能|也许|会|想|吗|呢|这个|这次|本次|这里|此处|今天|接口|版本|函数|为什么|按钮|页面|改成|null|nil`)
)

// inChinese reports whether a sentence in Chinese is a standing instruction.
func inChinese(s string) bool {
	s = strings.TrimRight(strings.Join(strings.Fields(s), ""), "。！；.!;")
	for _, filler := range []string{"好的，", "谢谢，", "另外，", "还有，", "对了，", "注意：", "记住：", "记住，", "另外", "还有"} {
		s = strings.TrimPrefix(s, filler)
	}
	if notLater.MatchString(s) {
		return false
	}
	if m := fromNow.FindStringSubmatch(s); m != nil {
		return ordered(m[3])
	}
	m := forever.FindStringSubmatch(s)
	if m == nil {
		if rest, ok := strings.CutPrefix(s, "你"); ok {
			m = forever.FindStringSubmatch(rest)
		}
		if m == nil {
			return false
		}
	}
	if m[5] == "每次" {
		w := workTime.FindStringSubmatch(m[6])
		return w != nil && ordered(w[5])
	}
	return ordered(m[6])
}

// ordered reports whether words tell an agent to do something, or when or about what it is to do so.
func ordered(s string) bool {
	s = strings.TrimLeft(s, "，,")
	if w := workTime.FindStringSubmatch(s); w != nil && ordered(w[5]) {
		return true
	}
	if t := topical.FindStringSubmatch(s); t != nil && t[4] != "" && (order.MatchString(t[4]) || t[3] != "") {
		return true
	}
	return order.MatchString(s)
}
