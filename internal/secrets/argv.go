package secrets

import (
	"path"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/shellwords"
)

// maxShell bounds how deep a command line is looked for in a word of another: sh -c "su -c 'mysql -p…'".
const maxShell = 3

// Argv returns a command line fit to be kept and shown. It masks the values of flags and variables with the name of a secret, headers and
// cookies, passwords that certain programs take under a short flag, what the shape of a word gives away, as [Text] does, and the values in
// v. A word that is a command line itself is masked as one.
func (v *Values) Argv(argv []string) []string { return v.maskArgv(argv, maxShell) }

// maskArgv returns a command line with secrets masked. depth is the number of levels of command lines within a word that are looked into.
func (v *Values) maskArgv(argv []string, depth int) []string {
	r := argvReader{values: v, depth: depth}
	out := make([]string, len(argv))
	for i, word := range argv {
		out[i] = v.hide(r.maskNext(word))
	}
	return out
}

// expected is the kind of the next word of a command line.
type expected uint8

const (
	anything expected = iota
	secretValue
	headerLine
	cookies
	login // user:password
)

// argvReader holds the state while a command line is read.
type argvReader struct {
	values  *Values
	depth   int
	program program
	signsIn bool // the word login came before
	expect  expected
	flag    string // the flag before that word
}

// maskNext returns the next word masked, by what the words before it were: the value of a secret flag, a header, a login.
func (r *argvReader) maskNext(word string) string {
	expect := r.expect
	r.expect = anything
	switch expect {
	case secretValue:
		if !evidentlyHarmless(r.flag, word) {
			return Hidden
		}
	case headerLine:
		return maskHeader(word)
	case cookies:
		if strings.Contains(word, "=") { // else it is the file that has them
			return Hidden
		}
	case login:
		return maskLogin(word)
	}
	if r.depth > 0 && strings.ContainsAny(word, " \t\n") {
		if safe, ok := r.maskShell(word); ok {
			return safe
		}
	}
	if len(word) > 1 && word[0] == '-' {
		return r.maskOption(word)
	}
	if p, ok := programOf(strings.TrimSuffix(strings.ToLower(path.Base(word)), ".exe")); ok {
		r.program, r.signsIn = p, false
	}
	r.signsIn = r.signsIn || word == "login"
	if secret, ok := strings.CutPrefix(word, "pass:"); ok && r.program.passWord && secret != "" {
		return "pass:" + Hidden
	}
	return maskWord(word)
}

// maskOption returns a flag with its own value masked, and notes what kind the next word is if the flag's value is there.
func (r *argvReader) maskOption(word string) string {
	name, value, assigned := strings.Cut(word, "=")
	is := r.kind(name)
	if !assigned {
		for short := range strings.FieldsSeq(r.program.attached) {
			if rest, ok := strings.CutPrefix(word, short); ok && rest != "" && rest[0] != '-' {
				return short + Hidden
			}
		}
		if rest, ok := strings.CutPrefix(word, "-H"); ok && strings.Contains(rest, ":") {
			return "-H" + maskHeader(rest)
		}
		if r.expect, r.flag = is, name; is == anything {
			return maskWord(word)
		}
		return word
	}
	switch is {
	case secretValue:
		if evidentlyHarmless(name, value) {
			return name + "=" + Text(value)
		}
		return name + "=" + Hidden
	case headerLine:
		return name + "=" + maskHeader(value)
	case cookies:
		if strings.Contains(value, "=") {
			return name + "=" + Hidden
		}
	case login:
		return name + "=" + maskLogin(value)
	}
	if inner, _, ok := strings.Cut(value, "="); ok && isIdentifier(inner) { // --set=password=x, --env=API_KEY=x
		return name + "=" + maskWord(value)
	}
	return maskWord(word)
}

// kind returns the kind of the value of a flag.
func (r *argvReader) kind(flag string) expected {
	switch flag {
	case "-H", "--header", "--headers", "--proxy-header", "-header":
		return headerLine
	case "--cookie", "--cookies":
		return cookies
	case "-b":
		if r.program.http {
			return cookies
		}
	}
	switch {
	case hasFlag(r.program.login, flag):
		return login
	case hasFlag(r.program.password, flag) && (!r.program.withLogin || r.signsIn), Flag(flag) && !hasFlag(r.program.names, flag):
		return secretValue
	}
	return anything
}

func hasFlag(flags, flag string) bool { return strings.Contains(flags, " "+flag+" ") }

// maskShell masks a word as a command line for a shell. ok is false if it is none, is longer than maxText, or nothing in it is masked. If what is
// masked was quoted in pieces, all of it is [Hidden].
func (r *argvReader) maskShell(line string) (safe string, ok bool) {
	if len(line) > maxText {
		return "", false
	}
	words, err := shellwords.Split(line)
	if err != nil || len(words) < 2 {
		return "", false
	}
	masked := r.values.maskArgv(words, r.depth-1)
	if slices.Equal(words, masked) {
		return "", false
	}
	var b strings.Builder
	rest := line
	for i, word := range words {
		at := strings.Index(rest, word)
		if at < 0 { // it is quoted in pieces
			if masked[i] != word {
				return Hidden, true
			}
			continue
		}
		b.WriteString(rest[:at])
		b.WriteString(masked[i])
		rest = rest[at+len(word):]
	}
	b.WriteString(rest)
	return Text(b.String()), true
}

// maxText bounds the words that are read as a command line, in bytes.
const maxText = 64 << 10

// maskWord masks a word that shows by itself that it is a secret: NAME=value, a header, or its shape.
func maskWord(word string) string {
	name, value, ok := strings.Cut(word, "=")
	if ok && isIdentifier(strings.TrimLeft(name, "-")) {
		switch named := Named(name); {
		case named && evidentlyHarmless(name, value):
			return name + "=" + Text(value)
		case named, PairNamed(name) && len(value) >= minRandom && random(value) && !strings.ContainsAny(value, "/ "):
			return name + "=" + Hidden
		}
	}
	if name, value, ok = strings.Cut(word, ":"); ok && len(value) >= minRandom && isIdentifier(name) && strings.Contains(name, "-") && Named(name) {
		return maskHeader(word) // X-API-Key:…, as HTTPie takes it
	}
	return Text(word)
}

// maskHeader masks the value of a header that holds a credential; its first word stays if it names a scheme. In any other line it masks as
// [Text] does.
func maskHeader(line string) string {
	name, value, ok := strings.Cut(line, ":")
	lower := strings.ToLower(strings.TrimSpace(name))
	if !ok || !PairNamed(lower) && lower != "cookie" && lower != "set-cookie" {
		return Text(line)
	}
	bare := strings.TrimLeft(value, " ")
	if evidentlyHarmless(lower, bare) {
		return line
	}
	head := name + ":" + value[:len(value)-len(bare)]
	if scheme, credential, ok := strings.Cut(bare, " "); ok && lower != "cookie" && lower != "set-cookie" && isIdentifier(scheme) && len(scheme) < minRandom {
		if evidentlyHarmless(lower, credential) {
			return line
		}
		return head + scheme + " " + Hidden
	}
	return head + Hidden
}

// maskLogin masks the password in user:password or user%password. A word with no password, or a reference to one, is masked as any other.
func maskLogin(word string) string {
	at := strings.IndexAny(word, ":%")
	if at < 0 || at+1 == len(word) || isReference(word[at+1:]) {
		return maskWord(word)
	}
	return word[:at+1] + Hidden
}

// isIdentifier reports whether a text may be the name of a variable, a property or a header.
func isIdentifier(s string) bool {
	for i := range len(s) {
		if c := s[i]; !urlSafe.has(c) && c != '.' {
			return false
		}
	}
	return s != "" && len(s) < maxName
}

// evidentlyHarmless reports whether a value is evidently no secret, although its name is that of one: a path, a variable, a number of
// tokens.
func evidentlyHarmless(name, value string) bool {
	if Harmless(value) || isReference(value) || isPath(value) || len(value) == 1 && digit(value[0]) || isInstalled(value) {
		return true
	}
	list := words(name)
	if len(list) == 0 {
		return false
	}
	switch last := singular(list[len(list)-1]); {
	case isNumber(value) && (!NumbersToo(name) || last == "token" && len(value) < minRandom/2):
		return true // --max-tokens 4096
	case last == "auth" && len(value) < minRandom && !strings.ContainsAny(value, ":0123456789"):
		return true // --auth basic
	}
	return strings.HasPrefix(value, "id=") || strings.HasPrefix(value, "type=") // of a Secret, as docker build --secret takes it
}

func isNumber(word string) bool { return word != "" && strings.Trim(word, "0123456789") == "" }

// isReference reports whether a text stands for a value that is elsewhere: a variable, a command, a template, a file.
func isReference(s string) bool {
	for _, form := range [][2]string{{"${", "}"}, {"$(", ")"}, {"{{", "}}"}, {"<", ">"}, {"%", "%"}} {
		if len(s) > len(form[0])+len(form[1]) && strings.HasPrefix(s, form[0]) && strings.HasSuffix(s, form[1]) {
			return true
		}
	}
	if name, ok := strings.CutPrefix(s, "$"); ok {
		return isIdentifier(name)
	}
	for _, scheme := range []string{"env:", "file:", "op://", "@/", "@./", "keyring:", "secretsmanager:", "ref+"} {
		if strings.HasPrefix(s, scheme) {
			return true
		}
	}
	return false
}

// isInstalled reports whether a value, which is not empty, is a thing that is installed under a name: the version of a package, the image of a
// container.
func isInstalled(s string) bool {
	if s[0] == '=' { // pip install token==1.2.3
		return true
	}
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == '.' || r == '-' || r == '+' || r == '~' })
	if len(parts) > 2 && isNumber(parts[0]) && isNumber(parts[1]) && len(parts[0])+len(parts[1]) < 8 && strings.Contains(s, ".") {
		return true
	}
	host, rest, ok := strings.Cut(s, "/")
	return ok && rest != "" && strings.Contains(host, ".") && isIdentifier(host) && strings.ToLower(host) == host && !changesOften(host)
}

// isPath reports whether a value is the path of a file. Base64 may begin with a slash too, but is random between two of them.
func isPath(s string) bool {
	if i := strings.LastIndexByte(s, '.'); i > 0 && keyFiles[strings.ToLower(s[i+1:])] {
		return true
	}
	if !strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "./") && !strings.HasPrefix(s, "../") && !strings.HasPrefix(s, "~/") && !strings.HasPrefix(s, "$HOME/") {
		return false
	}
	for part := range strings.SplitSeq(s, "/") {
		if len(part) >= minRandom && random(part) && changesOften(part) {
			return false
		}
	}
	return len(s) > 2
}

// minRandom is the length, in bytes, from which a value is judged by its characters.
const minRandom = 16

var keyFiles = wordSet("pem key crt cer der p12 pfx jks json yaml yml txt toml ini conf env pub gpg asc keytab")

// A program has flags that take a password although their names do not show it. Its lists are words with a space around each.
type program struct {
	login     string // flags whose value is user:password
	password  string // flags whose value is a password
	attached  string // flags that a password follows in the same word
	names     string // flags that sound like a secret, and take the name of one
	http      bool   // -b takes cookies
	withLogin bool   // password is for the command login only
	passWord  bool   // a word pass:… is a password
}

// programOf returns the rules of a program by the last element of its path; ok is false if it has none.
func programOf(name string) (p program, ok bool) {
	switch name {
	case "curl", "curlie", "http", "https", "xh", "xhs", "wget":
		return program{http: true, login: " -u --user -U --proxy-user -a "}, true
	case "ab":
		return program{login: " -A -P "}, true
	case "mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlcheck", "mysqlsh", "mariadb", "mariadb-dump", "mariadb-admin":
		return program{attached: " -p "}, true
	case "sshpass":
		return program{password: " -p ", attached: " -p "}, true
	case "redis-cli", "valkey-cli":
		return program{password: " -a "}, true
	case "ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldappasswd", "ldapwhoami":
		return program{password: " -w "}, true
	case "smbclient", "rpcclient", "smbget", "winexe", "net":
		return program{login: " -U --user "}, true
	case "mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport":
		return program{password: " -p "}, true
	case "docker", "podman", "helm", "buildah", "skopeo", "oras", "nerdctl", "crane", "az", "cf", "oc":
		return program{password: " -p ", withLogin: true, names: " --secret "}, true
	case "sqlcmd", "bcp", "tsql", "ipmitool", "mosquitto_pub", "mosquitto_sub":
		return program{password: " -P ", attached: " -P "}, true
	case "zip", "unzip", "7z", "7za", "7zz", "rar", "unrar":
		return program{password: " -P ", attached: " -p -P "}, true
	case "snmpwalk", "snmpget":
		return program{password: " -A -X "}, true
	case "openssl":
		return program{passWord: true}, true
	}
	return p, false
}
