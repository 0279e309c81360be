package transcripts

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Content is the kind of text in the tool results of a session. Tokenizers differ most between
// these.
type Content uint8

// The kinds of content.
const (
	English Content = iota
	JSON
	Base64
	Hexdump
	Mixed // scripts: Cyrillic, Greek, Arabic, Hindi, Chinese, Japanese, Korean, emoji
)

// Contents are all kinds, in order.
var Contents = []Content{English, JSON, Base64, Hexdump, Mixed}

// Text returns about size bytes of a kind of content.
func Text(c Content, r *rand.Rand, size int) string {
	var b strings.Builder
	b.Grow(size + 200)
	for b.Len() < size {
		c.line(&b, r)
	}
	return b.String()
}

func (c Content) line(b *strings.Builder, r *rand.Rand) {
	switch c {
	case English:
		for i := range 8 + r.IntN(10) {
			word := english[r.IntN(len(english))]
			if i == 0 {
				word = strings.ToUpper(word[:1]) + word[1:]
			} else {
				b.WriteByte(' ')
			}
			b.WriteString(word)
		}
		b.WriteString([]string{". ", ".\n", ", and "}[r.IntN(3)])
	case JSON:
		fmt.Fprintf(b, `{"metadata":{"name":"%s-%s-%d","namespace":"team-%d","uid":"%08x-%04x"},"status":{"health":"%s","sync":"%s","replicas":%d},"ok":%t}`+",\n",
			english[r.IntN(len(english))], english[r.IntN(len(english))], r.IntN(1000), r.IntN(40), r.Uint32(), r.Uint32()&0xffff,
			[]string{"Healthy", "Degraded", "Progressing"}[r.IntN(3)], []string{"Synced", "OutOfSync"}[r.IntN(2)], r.IntN(20), r.IntN(2) == 0)
	case Base64:
		var bytes [57]byte
		fill(bytes[:], r)
		b.WriteString(base64.StdEncoding.EncodeToString(bytes[:]))
		b.WriteByte('\n')
	case Hexdump:
		var bytes [16]byte
		fill(bytes[:], r)
		fmt.Fprintf(b, "%08x  % x  % x  |", b.Len(), bytes[:8], bytes[8:])
		for _, c := range bytes {
			if c < 0x20 || c > 0x7e {
				c = '.'
			}
			b.WriteByte(c)
		}
		b.WriteString("|\n")
	case Mixed:
		for range 6 {
			b.WriteString(scripts[r.IntN(len(scripts))])
			b.WriteByte(' ')
		}
		b.WriteByte('\n')
	}
}

func fill(b []byte, r *rand.Rand) {
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

var english = strings.Fields(`the build finished after seven minutes because a cached layer was reused while another worker waited
	for its lock to be released we should check whether request handlers close their response bodies when an upstream connection
	breaks in the middle of a stream function value returns error configuration directory package module import test server
	client window token message history summary limit number of open files process memory reservation queue schedule retry
	deployment replica namespace cluster application manifest revision status healthy degraded syncing rollback pipeline`)

var scripts = strings.Fields(`Сборка завершилась успешно ошибка соединения η σύνδεση διακόπηκε αρχείο فشل الاتصال بالخادم الملف
	सर्वर से कनेक्शन टूट गया फ़ाइल 服务器连接失败请重试 配置文件不存在 接続が切断されました ファイルが見つかりません 서버 연결이 끊어졌습니다 파일을 찾을 수 없습니다
	żółć größer naïve façade 🚀🔥 👩‍💻 ✅ Straße İstanbul`)
