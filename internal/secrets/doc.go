// Package secrets finds credentials by the names that they stand under and by their own shape, and masks them.
//
//	secrets.Text("cannot fetch https://ci:hunter2@git.example.net/a") // https://********@git.example.net/a
//	secrets.Named("DB_PASSWORD")                                      // true; "secretName" and "tokenUrl" only speak of one
//	v := secrets.Environ(os.Environ())                                // the values of variables with the name of a secret
//	v.Argv([]string{"deploy", "--token", "abc123"})                   // deploy --token ********
//
// What is masked by name is masked in doubt. No rule finds a secret that neither its name nor its shape gives away; whoever knows
// the value itself (a variable of the environment) hides it with a [Values].
//
// There is no state but in a Values, which does not change; all functions may be called from any goroutine. The rules are fuzzed
// here and, for objects of Kubernetes, in internal/argocd/redact.
package secrets

// Hidden replaces a masked value. Its length says nothing.
const Hidden = "********"
