package secrets

// A program is one that takes a password under a flag that does not say so.
type program struct {
	http      bool     // -b takes cookies
	login     []string // flags whose value is user:password
	password  []string // flags whose value is a password
	withLogin bool     // of the command login only
	attached  []string // flags that a password follows in the same word
	names     []string // flags that sound like a secret, and take the name of one
	passWord  bool     // a word pass:… is a password
}

var (
	httpClient = program{http: true, login: []string{"-u", "--user", "-U", "--proxy-user", "-a"}}
	mysql      = program{attached: []string{"-p"}}
	ldap       = program{password: []string{"-w"}}
	samba      = program{login: []string{"-U", "--user"}}
	mongo      = program{password: []string{"-p"}}
	registry   = program{password: []string{"-p"}, withLogin: true, names: []string{"--secret"}}
	capitalP   = program{password: []string{"-P"}, attached: []string{"-P"}}
	archive    = program{attached: []string{"-p", "-P"}, password: []string{"-P"}}
)

// programs are those that are known, by the last element of their path.
var programs = map[string]program{
	"curl": httpClient, "curlie": httpClient, "http": httpClient, "https": httpClient, "xh": httpClient, "xhs": httpClient, "wget": httpClient,
	"ab":    {login: []string{"-A", "-P"}},
	"mysql": mysql, "mysqldump": mysql, "mysqladmin": mysql, "mysqlimport": mysql, "mysqlcheck": mysql, "mysqlsh": mysql, "mariadb": mysql,
	"mariadb-dump": mysql, "mariadb-admin": mysql,
	"sshpass":   {password: []string{"-p"}, attached: []string{"-p"}},
	"redis-cli": {password: []string{"-a"}}, "valkey-cli": {password: []string{"-a"}},
	"ldapsearch": ldap, "ldapadd": ldap, "ldapmodify": ldap, "ldapdelete": ldap, "ldappasswd": ldap, "ldapwhoami": ldap,
	"smbclient": samba, "rpcclient": samba, "smbget": samba, "winexe": samba, "net": samba,
	"mongo": mongo, "mongosh": mongo, "mongodump": mongo, "mongorestore": mongo, "mongoexport": mongo, "mongoimport": mongo,
	"docker": registry, "podman": registry, "helm": registry, "buildah": registry, "skopeo": registry, "oras": registry, "nerdctl": registry,
	"crane": registry, "az": registry, "cf": registry, "oc": registry, "argocd": registry,
	"sqlcmd": capitalP, "bcp": capitalP, "tsql": capitalP, "ipmitool": capitalP, "mosquitto_pub": capitalP, "mosquitto_sub": capitalP,
	"zip": archive, "unzip": archive, "7z": archive, "7za": archive, "7zz": archive, "rar": archive, "unrar": archive,
	"snmpwalk": {password: []string{"-A", "-X"}}, "snmpget": {password: []string{"-A", "-X"}},
	"openssl": {passWord: true},
}
