package toolset

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

type canIArguments struct {
	target
	Resource    string `json:"resource" jsonschema:"applications, applicationsets, projects, clusters, repositories, certificates, accounts, gpgkeys, logs or exec"`
	Action      string `json:"action" jsonschema:"get, create, update, delete, sync, override, invoke or action/GROUP/KIND/NAME"`
	Subresource string `json:"subresource,omitempty" jsonschema:"Which object: PROJECT/APPLICATION for applications, else its name; * (default) for all"`
}

type canIAnswer struct {
	Instance string `json:"instance,omitempty"`
	Allowed  bool   `json:"allowed"`
	Question string `json:"question"`
	Note     string `json:"note,omitempty"`
}

func (t *Toolset) canITool() builtin.Tool {
	return readTool(t, builtin.Tool{
		Name: "account_service__can_i", Title: "May I?",
		Description: "Asks Argo CD whether the account these tools use may do something, e.g. resource=applications, action=sync, subresource=payments/checkout-prod. Useful after a 403.",
	}, map[string]string{"path_resource": "resource", "path_action": "action", "path_subresource": "subresource"},
		func(ctx context.Context, _ *builtin.Call, client *argocd.Client, in canIArguments) (*builtin.Result, error) {
			if err := checkGiven("resource", in.Resource, "action", in.Action); err != nil {
				return nil, err
			}
			object := cmp.Or(strings.TrimSpace(in.Subresource), "*")
			// The last part of the path takes the slashes that are in it:
			// /api/v1/account/can-i/{resource}/{action}/{subresource=**}.
			path := append([]string{"account", "can-i", in.Resource, in.Action}, strings.Split(object, "/")...)
			answer, err := read[struct {
				Value string `json:"value"`
			}](ctx, client, "the permission", path, nil)
			if err != nil {
				return nil, err
			}
			a := canIAnswer{Instance: t.instanceLabel(client), Allowed: answer.Value == "yes", Question: fmt.Sprintf("%s %s %s", clip(in.Action, 200), clip(in.Resource, 100), clip(object, 300))}
			if answer.Value != "yes" && answer.Value != "no" {
				a.Note = "The server said: " + clip(answer.Value, 200)
			}
			return builtin.JSON(a)
		})
}

// account is Account of server/account/account.proto. Of tokens it has the ids and times, and never the token itself.
type account struct {
	Name         string   `json:"name"`
	Enabled      bool     `json:"enabled"`
	Capabilities []string `json:"capabilities"`
	Tokens       []struct {
		ID      string `json:"id"`
		Issued  any    `json:"issuedAt"` // a number as a string: int64 in protobuf's JSON
		Expires any    `json:"expiresAt"`
	} `json:"tokens"`
}

type accountRow struct {
	Name         string      `json:"name"`
	Enabled      bool        `json:"enabled"`
	Capabilities []string    `json:"capabilities,omitempty"`
	Tokens       []tokenView `json:"tokens,omitempty"`
	More         int         `json:"more_tokens,omitempty"`
}

type tokenView struct {
	ID      string `json:"id"`
	Issued  string `json:"issued,omitempty"`
	Expires string `json:"expires,omitempty"`
}

// shortened returns the row with shorter texts and fewer tokens, the number of those left out in More; maxBytes decides both.
func (r accountRow) shortened(maxBytes int) accountRow {
	r.Name, r.Capabilities = clip(r.Name, max(80, maxBytes)), clips(r.Capabilities, 5, 40)
	if n := max(2, maxBytes/40); len(r.Tokens) > n {
		r.More += len(r.Tokens) - n
		r.Tokens = r.Tokens[:n:n]
	}
	return r
}

func (a account) toRow() accountRow {
	r := accountRow{Name: a.Name, Enabled: a.Enabled, Capabilities: a.Capabilities}
	for _, token := range a.Tokens {
		r.Tokens = append(r.Tokens, tokenView{clip(token.ID, 80), timeOfEpoch(token.Issued), timeOfEpoch(token.Expires)})
	}
	return r
}

// timeOfEpoch returns the time, in RFC 3339, of seconds since 1970 that are a number or a string; "" for 0, which means never, and for anything
// else.
func timeOfEpoch(v any) string {
	text := fmt.Sprint(v)
	if f, ok := v.(float64); ok {
		text = fmt.Sprintf("%.0f", f)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || seconds <= 0 {
		return ""
	}
	return time.Unix(seconds, 0).UTC().Format(time.RFC3339)
}

type accountsArguments struct {
	target
	paging
}

func (t *Toolset) accountsTool() builtin.Tool {
	return readTool(t, builtin.Tool{
		Name: "account_service__list_accounts", Title: "Accounts",
		Description: "The local accounts of Argo CD: whether they are enabled, whether they may log in or have tokens, and ids and times of their tokens (never a token).",
	}, nil, func(ctx context.Context, c *builtin.Call, client *argocd.Client, in accountsArguments) (*builtin.Result, error) {
		return listPage(ctx, t, c, client, "account", nil, in.paging, func(p paging) any { in.paging = p; return in },
			func(e account) (accountRow, bool) { return e.toRow(), true },
			func(a, b accountRow) int { return cmp.Compare(a.Name, b.Name) },
			func(*paged[accountRow], int) {})
	})
}

type accountArguments struct {
	target
	Name string `json:"name" jsonschema:"The account"`
}

func (t *Toolset) accountTool() builtin.Tool {
	return readTool(t, builtin.Tool{
		Name: "account_service__get_account", Title: "Account",
		Description: "One local account of Argo CD: whether it is enabled, what it may, ids and times of its tokens (never a token).",
	}, map[string]string{"path_name": "name"},
		func(ctx context.Context, _ *builtin.Call, client *argocd.Client, in accountArguments) (*builtin.Result, error) {
			if err := checkGiven("name", in.Name); err != nil {
				return nil, err
			}
			one, err := read[account](ctx, client, "the account", []string{"account", in.Name}, nil)
			if err != nil {
				return nil, err
			}
			return builtin.JSON(one.toRow().shortened(2000))
		})
}

type versionArguments struct{ target }

type versionAnswer struct {
	Instance  string            `json:"instance"`
	URL       string            `json:"url"`
	Version   string            `json:"version"`
	Built     string            `json:"built,omitempty"`
	Commit    string            `json:"commit,omitempty"`
	Go        string            `json:"go,omitempty"`
	Platform  string            `json:"platform,omitempty"`
	Tools     map[string]string `json:"tools,omitempty"`
	Instances []string          `json:"instances,omitempty"`
}

func (t *Toolset) versionTool() builtin.Tool {
	return readTool(t, builtin.Tool{
		Name: "version_service__version", Title: "Version of Argo CD",
		Description: "The version of Argo CD and of what it renders with (Helm, Kustomize, Jsonnet), and which server these tools talk to.",
	}, nil, func(ctx context.Context, _ *builtin.Call, client *argocd.Client, _ versionArguments) (*builtin.Result, error) {
		// VersionMessage of server/version/version.proto.
		v, err := read[map[string]any](ctx, client, "the version", []string{"api", "version"}, nil)
		if err != nil {
			return nil, err
		}
		text := func(key string) string {
			s, _ := v[key].(string)
			return clip(s, 300)
		}
		a := versionAnswer{
			Instance: client.Name(), URL: client.URL(), Version: text("Version"), Built: text("BuildDate"),
			Commit: text("GitCommit"), Go: text("GoVersion"), Platform: text("Platform"), Tools: map[string]string{},
		}
		for _, tool := range []string{"Kustomize", "Helm", "Kubectl", "Jsonnet"} {
			if s := text(tool + "Version"); s != "" {
				a.Tools[strings.ToLower(tool)] = s
			}
		}
		if len(t.o.Instances) > 1 {
			for _, other := range t.o.Instances {
				a.Instances = append(a.Instances, other.Name())
			}
		}
		return builtin.JSON(a)
	})
}
