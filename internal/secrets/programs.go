package secrets

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
