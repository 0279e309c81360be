// Package redact makes objects of Argo CD and Kubernetes fit to be shown to a model:
// secrets masked, and what only machines read left out.
//
//	slim, left, err := redact.Slim(application, redact.Keep{})
//	// left: "metadata.managedFields (3.1 KiB)", "status.history (2.2 KiB)"
//	safe, masked, err := redact.Mask(secret)
//
// # What is masked
//
// Everywhere in an object, at any depth:
//
//   - data and stringData of a Secret, also of one in a SecretList, also where kind comes
//     after them; and annotations of it that hold what was applied
//   - values whose key says that they are secret: words such as password, token, secret,
//     credential, "api key"; not those that only name a secret (secretName, tokenUrl)
//   - the same for pairs like {"name":"DB_PASSWORD","value":"…"}: parameters of Helm,
//     variables of containers and plugins
//   - caData, certData and keyData of a cluster, the variables of its exec provider
//   - in any text: userinfo of URLs, Bearer tokens, JWTs, private keys, tokens with a known
//     prefix, NAME=value and, in texts of several lines, "name: value" with a secret name
//   - JSON in a text (live manifests, annotations of last-applied configuration) is read as
//     JSON, with the same rules
//
// The rules for names and texts are those of package internal/secrets. A mask is always [Hidden], whatever it covers. Empty strings, null, true and false stay,
// and so do the plus signs that Argo CD itself puts over a Secret's data: their number
// shows whether two values differ.
//
// What is masked by name is masked in doubt. No rule finds a secret that neither its name
// nor its shape gives away.
//
// # What stays
//
// Every other value stays the bytes it was: integers beyond 2^53, the order of keys, keys
// that come twice, escapes. White space between values goes.
//
// # What it takes
//
// Two passes over the bytes, and memory for the result and an entry of 16 bytes or so for
// each Secret and each pair with a secret name in it.
// JSON that nests deeper than 10000 is an error, as it is for encoding/json. JSON in a text
// in JSON in a text is followed four times, then masked whole.
//
// # Concurrency
//
// There is no state; all functions may be called from any goroutine.
//
// # How it is tested
//
// Against recorded objects of a real server, with secrets planted in each of the places
// above; and fuzzed: whatever is valid stays valid, masking twice is masking once, and a
// planted secret never comes out.
package redact
