package config

import "slices"

// instanceKeys are the keys of [mcp.argocd.NAME], about access to one Argo CD. A project's file, which may come with a cloned repository,
// sets none of them.
var instanceKeys = []*Key{
	{
		Name: "url", Type: TypeAnyURL, Project: ProjectNever, example: `"https://argocd.example.com"`,
		Doc:         "Address of the Argo CD server.",
		setInstance: func(s *ArgoCDInstance, v any) { s.URL = v.(string) },
	},
	{
		Name: "context", Type: TypeText, Project: ProjectNever, example: `"argocd.example.com"`,
		Doc:         "Context of the argocd command's configuration, which fills in what the other keys do not say; its token and certificates only for its own server.",
		setInstance: func(s *ArgoCDInstance, v any) { s.Context = v.(string) },
	},
	{
		Name: "token", Type: TypeVariable, Project: ProjectNever, example: `"ARGOCD_AUTH_TOKEN"`,
		Doc:         "Variable that holds the token.",
		setInstance: func(s *ArgoCDInstance, v any) { s.Token = v.(string) },
	},
	{
		Name: "token_file", Type: TypeFile, Project: ProjectNever, example: `"/var/run/secrets/argocd/token"`,
		Doc:         "File that holds the token; read again when it changes.",
		setInstance: func(s *ArgoCDInstance, v any) { s.TokenFile = v.(string) },
	},
	{
		Name: "token_command", Type: TypeArgv, Project: ProjectNever, example: `["vault", "read", "-field=token", "secret/argocd"]`,
		Doc:         "Command that prints the token, run without a shell, and again a minute before the token ends.",
		setInstance: func(s *ArgoCDInstance, v any) { s.TokenCommand = slices.Clone(v.([]string)) },
	},
	{
		Name: "headers", Type: TypePairs, Project: ProjectNever, example: `["X-Proxy-Token=PROXY_TOKEN"]`,
		Doc:         "Further headers, each as NAME=VARIABLE.",
		setInstance: func(s *ArgoCDInstance, v any) { s.Headers = slices.Clone(v.([]string)) },
	},
	{
		Name: "ca", Type: TypeFile, Project: ProjectNever, example: `"/etc/ssl/company.pem"`,
		Doc:         "Certificates that the server's is checked against; unset means the system's.",
		setInstance: func(s *ArgoCDInstance, v any) { s.CA = v.(string) },
	},
	{
		Name: "cert", Type: TypeFile, Project: ProjectNever, example: `"/etc/ssl/me.pem"`,
		Doc:         "Client certificate, where the server wants one.",
		setInstance: func(s *ArgoCDInstance, v any) { s.Cert = v.(string) },
	},
	{
		Name: "key", Type: TypeFile, Project: ProjectNever, example: `"/etc/ssl/me.key"`,
		Doc:         "File with the key of cert.",
		setInstance: func(s *ArgoCDInstance, v any) { s.Key = v.(string) },
	},
	{
		Name: "insecure", Type: TypeBool, Project: ProjectNever, example: "false",
		Doc:         "Whether the server's certificate goes unchecked; each start warns of it.",
		setInstance: func(s *ArgoCDInstance, v any) { s.Insecure = v.(bool) },
	},
	{
		Name: "default", Type: TypeBool, Project: ProjectNever, example: "true",
		Doc:         "Whether calls that name no instance go here; without one they go to the first by name.",
		setInstance: func(s *ArgoCDInstance, v any) { s.Default = v.(bool) },
	},
}

// instancesTable is the name of the table [mcp.argocd.NAME].
const instancesTable = "mcp.argocd"

func init() {
	for _, k := range instanceKeys {
		k.Table = instancesTable
	}
}
