package newest

import (
	"strings"
	"sync"
	"unicode"
)

// changes are phrases by which a sentence says that something is no longer so, or so from now on.
var changes = sync.OnceValue(func() []string {
	return phrases(`
instead of|instead|no longer|not any more|anymore|any more|from now on|as of|switched|switch to|moved to|moves to|moved from|changed to|changed from|is changed|has changed|replaced|replaces|renamed|rather than
now|gave up|stopped|starting|given up|dropped|migrated|is gone|correction|actually|scrap that|forget what i said|not true
statt|anstatt|anstelle|stattdessen|nicht mehr|keine mehr|kein mehr|ab jetzt|ab sofort|von nun an|nunmehr|neu|neuerdings|jetzt|umgestellt|gewechselt|ersetzt|abgelöst|umbenannt|umgezogen|verschoben|korrektur|nun|künftig|seit
en vez de|en lugar de|ya no|a partir de|de ahora en adelante|desde ahora|ahora|cambiamos|cambiado|cambia|cambió|pasamos a|hemos pasado|reemplaza|reemplazamos|sustituye|migramos|dejamos de|se mudó|corrección
改成|改为|改在|改用|改到|改叫|换成|换到|换为|不再|现在|以后|今后|起改|从现在|代替|取代|而不是|更正|搬到|迁移到|迁到|升到|升级到|降到|调整为|推迟到|提前到`)
})

// against are those of them behind which the sentence says what is no longer so.
var against = sync.OnceValue(func() []string {
	return phrases(`instead of|no longer|rather than|gave up|given up|stopped|dropped|moved from|changed from|switched from|replaced|replaces|not any more|statt|anstatt|anstelle von|nicht mehr|kein mehr|keine mehr
ya no|en vez de|en lugar de|dejamos de|reemplaza|sustituye|不再|而不是|代替|取代`)
})

// additions are phrases by which a sentence says that something is so too.
var additions = sync.OnceValue(func() []string {
	return phrases(`also|too|as well|additionally|another|besides|in addition|auch|zusätzlich|ausserdem|außerdem|daneben|también|además|asimismo|还有|也|另外|同时也`)
})

func phrases(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '|' || r == '\n' })
}

// functions are words without a meaning of their own, beside the English ones that an index leaves out, and those by which a change is said.
var functions = sync.OnceValue(func() map[string]bool {
	return set(`now instead longer anymore rather switched moved changed replaced renamed actually correction starting
der die das den dem des ein eine einen einem einer und oder ist sind war wird werden im in am an auf aus bei beim mit nach von vom zu zum zur für über um bis ab statt anstatt nicht mehr jetzt neu nun künftig seit sofort ich wir uns unser
unsere unserer unseren mein meine meinen man noch nur so als es sich kein keine uhr
el la los las un una unos unas de del al y o en con por para se es son está están que lo su nuestro nuestra mi ya no vez lugar ahora partir desde a nos`)
})

// verbs are words that join a subject with what is said of it.
var verbs = sync.OnceValue(func() map[string]bool {
	return set(`is are was has have uses use used runs run lives live lies lie goes go called costs costs starts start begins begin ends end takes take needs keeps kept prefer prefers like likes must should will means equals owns own works stays hosts supports cut
ist sind hat haben heißt heißen läuft laufen steht stehen liegt liegen kostet kosten beginnt beginnen endet wird werden nutzen verwenden nehmen bekommt gehört wohne wohnt arbeitet dauert muss müssen soll sollen darf
es son está están tiene tienen usa usamos usan se llama cuesta empieza termina vive vivo trabaja debe deben hace hacemos lleva corre`)
})

// denseVerbs are the same, of Chinese, and joining are letters that stand in words without a meaning of their own.
const (
	denseVerbs = "是用在为叫住到设由放存"
	joining    = "的了是我你他她它们在有不就也和都吗呢吧啊这那个要去着过给把被用到成为改换再现从起以后"
)

func set(text string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(text) {
		out[w] = true
	}
	return out
}

var (
	weekdays = sync.OnceValue(func() map[string]bool {
		return set(`monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays montag dienstag mittwoch donnerstag freitag samstag sonntag
		montags dienstags mittwochs donnerstags freitags samstags sonntags lunes martes miércoles jueves viernes sábado domingo sábados domingos 周一 周二 周三 周四 周五 周六 周日`)
	})
	months = sync.OnceValue(func() map[string]bool {
		return set(`january february march april may june july august september october november december januar februar märz mai juni juli oktober dezember enero febrero marzo abril mayo junio julio agosto septiembre
		octubre noviembre diciembre`)
	})
	numbers = sync.OnceValue(func() map[string]bool {
		return set(`one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty hundred thousand eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf fünfzehn zwanzig dreißig
		uno dos tres cuatro cinco seis siete ocho nueve diez once doce quince veinte treinta cien`)
	})
)

func classOf(w string) class {
	switch {
	case weekdays()[w]:
		return weekday
	case months()[w]:
		return month
	case numbers()[w], w != "" && unicode.IsDigit(rune(w[0])):
		return number
	case strings.ContainsAny(w, "一二三四五六七八九十百千万") && len(w) <= 6:
		return number
	}
	return other
}
