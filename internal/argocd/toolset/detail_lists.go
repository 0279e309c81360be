package toolset

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// listPage reads a short list of Argo CD's settings, and answers with a page of its rows. rowOf makes a row of an element and says whether it is
// wanted; order sorts the rows; finish completes the answer, for n rows in all.
func listPage[E any, R row[R]](ctx context.Context, t *Toolset, c *builtin.Call, client *argocd.Client, path string, q url.Values,
	p paging, repeat func(p paging) any, rowOf func(e E) (r R, wanted bool), order func(a, b R) int, finish func(a *paged[R], n int),
) (*builtin.Result, error) {
	var found rows[R]
	each := func(raw []byte) error {
		var e E
		if err := decode(client, path, raw, &e); err != nil {
			return err
		}
		if r, wanted := rowOf(e); wanted {
			return found.add(r)
		}
		return nil
	}
	var err error
	if path == string(argocd.Repositories) {
		_, err = client.List(ctx, argocd.Repositories, argocd.Query{Projects: q["appProject"]}, each)
	} else {
		_, err = client.Elements(ctx, []string{path}, q, map[string]func([]byte) error{"items": each})
	}
	if err != nil {
		return nil, err
	}
	sorting.StableBy(found.list, order)
	a := paged[R]{Instance: t.instanceLabel(client)}
	finish(&a, len(found.list))
	return page(c, a, found.list, p, repeat)
}

type repositoriesArguments struct {
	target
	Project string `json:"project,omitempty" jsonschema:"Only repositories of this project"`
	Search  string `json:"search,omitempty" jsonschema:"Only those with this text in URL or name, any case"`
	Failed  bool   `json:"failed,omitempty" jsonschema:"Only those that Argo CD could not connect to (default false)"`
	paging
}

type repository struct {
	Repo     string `json:"repo"`
	Name     string `json:"name"`
	Type     string `json:"type"`
	Project  string `json:"project"`
	Username string `json:"username"`
	Insecure bool   `json:"insecure"`
	LFS      bool   `json:"enableLfs"`
	OCI      bool   `json:"enableOCI"`
	State    struct {
		Status  string `json:"status"`
		Message string `json:"message"`
		At      string `json:"attemptedAt"`
	} `json:"connectionState"`
}

type repositoryRow struct {
	Repo     string `json:"repo"`
	Name     string `json:"name,omitempty"`
	Type     string `json:"type,omitempty"`
	Project  string `json:"project,omitempty"`
	Username string `json:"username,omitempty"`
	Insecure bool   `json:"insecure,omitempty"`
	LFS      bool   `json:"lfs,omitempty"`
	OCI      bool   `json:"oci,omitempty"`
	Status   string `json:"connection"`
	Message  string `json:"message,omitempty"`
	At       string `json:"tried,omitempty"`
}

func (r repositoryRow) shortened(maxBytes int) repositoryRow {
	r.Message, r.Repo, r.Name = clip(r.Message, maxBytes), clip(r.Repo, max(150, maxBytes)), clip(r.Name, max(80, maxBytes))
	return r
}

func (t *Toolset) repositoriesTool() builtin.Tool {
	return readTool(t, builtin.Tool{
		Name: "repository_list", Title: "Repositories",
		Description: "The Git, Helm and OCI repositories that Argo CD has settings for, with the state of the connection; those that failed come first, with the reason. No credentials.",
	}, nil, func(ctx context.Context, c *builtin.Call, client *argocd.Client, in repositoriesArguments) (*builtin.Result, error) {
		states, types := tally{}, tally{}
		search := strings.ToLower(strings.TrimSpace(in.Search))
		q := url.Values{}
		setQuery(q, "appProject", in.Project)
		return listPage(ctx, t, c, client, "repositories", q, in.paging, func(p paging) any { in.paging = p; return in },
			func(e repository) (repositoryRow, bool) {
				r := repositoryRow{e.Repo, e.Name, e.Type, e.Project, e.Username, e.Insecure, e.LFS, e.OCI, cmp.Or(e.State.Status, "none"), e.State.Message, e.State.At}
				// The server's own filter by project is only in newer versions.
				if in.Project != "" && e.Project != in.Project || search != "" && !strings.Contains(strings.ToLower(e.Repo+" "+e.Name), search) {
					return r, false
				}
				states[r.Status]++
				types[cmp.Or(r.Type, "git")]++
				return r.shortened(1200), !in.Failed || r.Status == "Failed"
			},
			func(a, b repositoryRow) int {
				return cmp.Or(-cmp.Compare(intOf(a.Status == "Failed"), intOf(b.Status == "Failed")), cmp.Compare(a.Repo, b.Repo), cmp.Compare(a.Project, b.Project))
			},
			func(a *paged[repositoryRow], n int) {
				a.Summary = map[string]tally{"by_connection": states, "by_type": types}
				if n == 0 {
					a.Note = "No repository matches; Argo CD also leaves out what this token may not see."
				}
			})
	})
}

func intOf(set bool) int {
	if set {
		return 1
	}
	return 0
}

type certificatesArguments struct {
	target
	Host    string `json:"host,omitempty" jsonschema:"Only hosts that match this pattern, e.g. *.example.net"`
	Type    string `json:"type,omitempty" jsonschema:"Only ssh or https"`
	SubType string `json:"sub_type,omitempty" jsonschema:"Only this kind of key, e.g. ssh-ed25519"`
	paging
}

type certificateRow struct {
	Server  string `json:"server"`
	Type    string `json:"type"`
	SubType string `json:"sub_type,omitempty"`
	Info    string `json:"info,omitempty"`
}

func (r certificateRow) shortened(maxBytes int) certificateRow {
	r.Server, r.Info = clip(r.Server, max(120, maxBytes)), clip(r.Info, max(80, maxBytes))
	return r
}

func (t *Toolset) certificatesTool() builtin.Tool {
	return readTool(t, builtin.Tool{
		Name: "certificate_service__list_certificates", Title: "Certificates",
		Description: "The TLS certificates and SSH host keys by which Argo CD knows repository servers, with fingerprints or subjects.",
	}, map[string]string{"param_hostNamePattern": "host", "param_certType": "type", "param_certSubType": "sub_type"},
		func(ctx context.Context, c *builtin.Call, client *argocd.Client, in certificatesArguments) (*builtin.Result, error) {
			q := url.Values{}
			setQuery(q, "hostNamePattern", in.Host)
			setQuery(q, "certType", in.Type)
			setQuery(q, "certSubType", in.SubType)
			types := tally{}
			return listPage(ctx, t, c, client, "certificates", q, in.paging, func(p paging) any { in.paging = p; return in },
				func(e struct {
					Server  string `json:"serverName"`
					Type    string `json:"certType"`
					SubType string `json:"certSubType"`
					Info    string `json:"certInfo"`
				},
				) (certificateRow, bool) {
					types[cmp.Or(e.Type, "none")]++
					return certificateRow{e.Server, e.Type, e.SubType, e.Info}.shortened(1200), true
				},
				func(a, b certificateRow) int {
					return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Type, b.Type), cmp.Compare(a.SubType, b.SubType))
				},
				func(a *paged[certificateRow], _ int) { a.Summary = map[string]tally{"by_type": types} })
		})
}

type keysArguments struct {
	target
	KeyID string `json:"key_id,omitempty" jsonschema:"Only the key of this id"`
	paging
}

type keyRow struct {
	ID          string `json:"key_id"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Owner       string `json:"owner,omitempty"`
	Trust       string `json:"trust,omitempty"`
	SubType     string `json:"sub_type,omitempty"`
}

func (r keyRow) shortened(maxBytes int) keyRow {
	r.Owner = clip(r.Owner, max(80, maxBytes))
	return r
}

// gnuPGKey is GnuPGPublicKey of types.go; its keyData is not read.
type gnuPGKey struct {
	ID          string `json:"keyID"`
	Fingerprint string `json:"fingerprint"`
	Owner       string `json:"owner"`
	Trust       string `json:"trust"`
	SubType     string `json:"subType"`
}

func (k gnuPGKey) toRow() keyRow { return keyRow(k) }

func (t *Toolset) keysTool() builtin.Tool {
	return readTool(t, builtin.Tool{
		Name: "gpg_key_service__list", Title: "GnuPG keys",
		Description: "The GnuPG public keys with which Argo CD checks the signatures of commits.",
	}, map[string]string{"param_keyID": "key_id"},
		func(ctx context.Context, c *builtin.Call, client *argocd.Client, in keysArguments) (*builtin.Result, error) {
			q := url.Values{}
			setQuery(q, "keyID", in.KeyID)
			return listPage(ctx, t, c, client, "gpgkeys", q, in.paging, func(p paging) any { in.paging = p; return in },
				func(e gnuPGKey) (keyRow, bool) {
					return e.toRow().shortened(1200), in.KeyID == "" || strings.HasSuffix(strings.ToUpper(e.ID), strings.ToUpper(in.KeyID))
				},
				func(a, b keyRow) int { return cmp.Compare(a.ID, b.ID) },
				func(a *paged[keyRow], n int) {
					switch {
					case n > 0:
					case in.KeyID != "":
						a.Note = "There is no GnuPG key of this id; without key_id all are listed."
					default:
						a.Note = "Argo CD has no GnuPG key, so it can verify no commit's signature: a project with signatureKeys refuses every sync, the others ask for none."
					}
				})
		})
}

type keyArguments struct {
	target
	KeyID string `json:"key_id" jsonschema:"The key's id, 16 hexadecimal digits"`
}

func (t *Toolset) keyTool() builtin.Tool {
	return readTool(t, builtin.Tool{
		Name: "gpg_key_service__get", Title: "GnuPG key",
		Description: "One GnuPG public key of Argo CD: owner, fingerprint, kind.",
	}, map[string]string{"path_keyID": "key_id"},
		func(ctx context.Context, _ *builtin.Call, client *argocd.Client, in keyArguments) (*builtin.Result, error) {
			if err := checkGiven("key_id", in.KeyID); err != nil {
				return nil, err
			}
			key, err := read[gnuPGKey](ctx, client, "the key", []string{"gpgkeys", in.KeyID}, nil)
			if err != nil {
				return nil, err
			}
			if key.ID == "" {
				return nil, fmt.Errorf("%s: there is no key %q; gpg_key_service__list lists those there are", client.Name(), shortQuote(in.KeyID))
			}
			return builtin.JSON(key.toRow().shortened(1200))
		})
}
