package recall

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/memory/index"
	"github.com/plimsoll/plimsoll/internal/memory/signs"
)

//go:embed words.txt
var wordsText string

// rank tells how common a word is among people who talk to a tool.
type rank uint8

const (
	rare     rank = iota // in none of the lists: a name, a subject
	trade                // of those who write programs
	everyday             // of everybody
	function             // without a meaning of its own
)

// ranks are the ranks of the listed words, and of their terms in an index.
var ranks = sync.OnceValue(func() map[string]rank {
	out := map[string]rank{}
	var words index.Words
	all := signs.Sections(wordsText)
	for i, name := range []string{"trade", "everyday", "function"} {
		for _, w := range all[name] {
			out[w] = trade + rank(i)
			words.Tokens(w, func(t index.Token) {
				if t.Term != "" && t.Parts == 1 && i < 2 {
					out[t.Term] = max(out[t.Term], trade+rank(i))
				}
			})
		}
	}
	return out
})

// emptyHan are letters of Chinese that stand in words of no meaning of their own; a pair with one of them tells nothing.
const emptyHan = "的了是我你他她它们在有不就也和都吗呢吧啊什么怎哪这那个们到说要去会着没看好自么还多少几谁为以与或但把被给让对从向于及其之而且再又只才很太最更用"

// commonHan are pairs of letters that people who write programs say all the time.
var commonHan = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(`函数 测试 文件 代码 列表 错误 配置 变量 服务 数据 接口 方法 参数 类型 返回 运行 修改 问题 项目 程序 失败 名字 排序 导入 输出 输入 日志 更新
		单元 元测 试失 字段 对象 数组 循环 提交 分支 时候 时间 意思 区别 通道 需要 可以 应该 现在 继续 谢谢 编译 修复 解释 一下 任务 功能 页面 用户 系统 内容 结果 信息 版本 空间 统一 每周 我们 负责`) {
		out[w] = true
	}
	return out
})

// unit is a word as a reader sees it: the parts that only capital letters tell apart are one (TypeScript), those that a sign joins are several.
type unit struct {
	index.Token
	// initials are those of the parts of a word that has several: ts of TypeScript.
	initials string
	// shown is the word as it is written.
	shown string
}

// units returns the words of a text.
func units(text string) (all []unit) {
	var words index.Words
	at := 0 // in the run, behind the part before
	words.Tokens(text, func(t index.Token) {
		if t.Whole {
			return
		}
		if t.Dense || t.Part == 0 {
			at = 0
		}
		letters := strings.ToLower(t.Run)
		from := strings.Index(letters[min(at, len(letters)):], t.Word)
		from = max(from, 0) + min(at, len(letters))
		joined := !t.Dense && t.Part > 0 && from == at && at > 0 && len(all) > 0
		at = from + len(t.Word)
		first, _ := utf8.DecodeRuneInString(t.Word)
		if !joined {
			shown := t.Word
			if !t.Dense && len(letters) == len(t.Run) && at <= len(t.Run) {
				shown = t.Run[from:at]
			}
			all = append(all, unit{Token: t, shown: shown})
			return
		}
		last := &all[len(all)-1]
		if last.initials == "" {
			before, _ := utf8.DecodeRuneInString(last.Word)
			last.initials = string(before)
		}
		last.initials += string(first)
		last.Word += t.Word
		if len(letters) == len(t.Run) && at <= len(t.Run) {
			last.shown += t.Run[from:at]
		}
		last.Term, last.Part = last.Word, t.Part
	})
	return all
}

// isName reports whether a word is written as a name: with several capital letters, with a digit beside letters, or with one capital letter within a
// sentence, except in German, which writes all nouns so.
func (u *unit) isName(german bool) bool {
	upper := 0
	for i, r := range u.shown {
		if unicode.IsUpper(r) && (i > 0 || !u.Breaks && !german) {
			upper++
		}
	}
	return upper > 0 || strings.ContainsFunc(u.Word, unicode.IsDigit) && strings.ContainsFunc(u.Word, unicode.IsLetter)
}

// isGerman reports whether a text has words of German that no other of the four languages has.
func isGerman(all []unit) bool {
	return slices.ContainsFunc(all, func(u unit) bool {
		switch u.Word {
		case "und", "der", "das", "ist", "wie", "nicht", "für", "wir", "ich", "wer", "wann", "wo", "mit", "auf", "eine", "einen", "wird", "werden", "bei", "läuft", "steht", "heißt", "unser", "unsere", "welche", "welcher", "welches", "nach", "sind", "im", "meine", "mein", "meinen", "vom", "zum", "zur", "beim", "den", "dem":
			return true
		}
		return false
	})
}

// rank returns how common the word is.
func (u *unit) rank() rank {
	r, ok := ranks()[u.Word]
	if !ok {
		r = ranks()[u.Term]
	}
	switch {
	case u.Dense && strings.ContainsAny(u.Word, emptyHan):
		return function
	case u.Dense && commonHan()[u.Word]:
		return trade
	case u.Term == "":
		return function
	}
	return r
}
