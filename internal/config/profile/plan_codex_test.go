package profile

func codexFlag(key, name string) string { return key + `="` + peerRoot + "/" + name + `/v1"` }

func codexArgs(rest ...string) []string {
	return append([]string{"codex", "-c", codexFlag("openai_base_url", "openai")}, rest...)
}

const chatGPTLogin = `{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"tokens":{"access_token":"a","account_id":"b"}}`

var codexRows = []row{
	{name: "CODEX_API_KEY", tool: "codex", argv: []string{"codex", "exec", "hi"}, env: []string{"CODEX_API_KEY=k"}, args: codexArgs("exec", "hi"), reaches: []Upstream{openai}},
	{name: "API key login", tool: "codex", files: map[string]string{"/home/ann/.codex/auth.json": `{"auth_mode":"apikey","OPENAI_API_KEY":"k"}`}, args: codexArgs(), reaches: []Upstream{openai}},
	{name: "API key login of old", tool: "codex", files: map[string]string{"/home/ann/.codex/auth.json": `{"OPENAI_API_KEY":"k"}`}, args: codexArgs(), reaches: []Upstream{openai}},
	{name: "ChatGPT login", tool: "codex", files: map[string]string{"/home/ann/.codex/auth.json": chatGPTLogin}, args: codexArgs(), reaches: []Upstream{at(openai, chatGPT)}},
	{
		name: "ChatGPT login, upstream configured for keys", tool: "codex", files: map[string]string{"/home/ann/.codex/auth.json": chatGPTLogin}, config: map[string]string{"openai": "https://x.example/v1"},
		args: codexArgs(), reaches: []Upstream{at(openai, chatGPT)},
	},
	{name: "API key before ChatGPT login", tool: "codex", env: []string{"CODEX_API_KEY=k"}, files: map[string]string{"/home/ann/.codex/auth.json": chatGPTLogin}, args: codexArgs(), reaches: []Upstream{openai}},
	{name: "another home", tool: "codex", env: []string{"CODEX_HOME=/srv/codex"}, files: map[string]string{"/srv/codex/auth.json": chatGPTLogin}, args: codexArgs(), reaches: []Upstream{at(openai, chatGPT)}},
	{name: "not logged in", tool: "codex", env: []string{"OPENAI_API_KEY=k"}, why: "not logged in"},
	{name: "another login", tool: "codex", files: map[string]string{"/home/ann/.codex/auth.json": `{"auth_mode":"agentIdentity"}`}, why: "agentIdentity"},
	{name: "login in the keyring", tool: "codex", files: map[string]string{"/home/ann/.codex/config.toml": `cli_auth_credentials_store = "auto"`}, why: "keyring"},
	{name: "broken login", tool: "codex", files: map[string]string{"/home/ann/.codex/auth.json": `{`}, why: "auth.json"},
	{name: "broken config", tool: "codex", env: []string{"CODEX_API_KEY=k"}, files: map[string]string{"/home/ann/.codex/config.toml": `model = `}, why: "config.toml"},
	{name: "ChatGPT at another address", tool: "codex", files: map[string]string{"/home/ann/.codex/auth.json": chatGPTLogin, "/home/ann/.codex/config.toml": `chatgpt_base_url = "https://x"`}, why: "chatgpt_base_url"},
	{
		name: "address in the config", tool: "codex", files: map[string]string{"/home/ann/.codex/config.toml": `openai_base_url = "` + gateway + `"`},
		args: codexArgs(), reaches: []Upstream{at(openai, gateway)},
	},
	{
		name: "what the model takes", tool: "codex", env: []string{"CODEX_API_KEY=k"}, files: map[string]string{"/home/ann/.codex/config.toml": "model = \"gpt-next\"\nmodel_context_window = 640_000\nmodel_max_output_tokens = 90000"},
		args: codexArgs(), reaches: []Upstream{openai}, models: []ModelLimit{{"openai", "gpt-next", 640_000, 90_000}},
	},
	{
		name: "address in a flag", tool: "codex", argv: []string{"codex", "exec", "-c", "model=x", "--config=openai_base_url=" + gateway, "hi"},
		args: []string{"codex", "exec", "-c", "model=x", "--config=" + codexFlag("openai_base_url", "openai"), "hi"}, reaches: []Upstream{at(openai, gateway)},
	},
	{
		name: "a provider of one's own", tool: "codex", files: map[string]string{"/home/ann/.codex/config.toml": "model_provider = \"mine\"\n[model_providers.mine]\nbase_url = \"" + gateway + "\"\nenv_key = \"K\""},
		args: []string{"codex", "-c", codexFlag("model_providers.mine.base_url", "openai")}, reaches: []Upstream{at(openai, gateway)},
	},
	{
		name: "a provider by flag, its table in a profile", tool: "codex", argv: []string{"codex", "-p", "work", "-cmodel_provider=mine"},
		files: map[string]string{"/home/ann/.codex/work.config.toml": "[model_providers.mine]\nbase_url = \"" + gateway + "\""},
		args:  []string{"codex", "-c", codexFlag("model_providers.mine.base_url", "openai"), "-p", "work", "-cmodel_provider=mine"}, reaches: []Upstream{at(openai, gateway)},
	},
	{
		name: "a provider without an address, with the login of Codex", tool: "codex",
		files: map[string]string{"/home/ann/.codex/auth.json": chatGPTLogin, "/home/ann/.codex/config.toml": "model_provider = \"mine\"\n[model_providers.mine]\nrequires_openai_auth = true"},
		args:  []string{"codex", "-c", codexFlag("model_providers.mine.base_url", "openai")}, reaches: []Upstream{at(openai, chatGPT)},
	},
	{name: "a provider that is built in", tool: "codex", files: map[string]string{"/home/ann/.codex/config.toml": `model_provider = "amazon-bedrock"`}, why: "amazon-bedrock"},
	{name: "Bedrock", tool: "codex", files: map[string]string{"/home/ann/.codex/config.toml": "model_provider = \"b\"\n[model_providers.b.aws]\nregion = \"x\""}, why: "Bedrock"},
	{name: "a provider with an odd name", tool: "codex", files: map[string]string{"/home/ann/.codex/config.toml": "model_provider = \"a b\"\n[model_providers.\"a b\"]\nbase_url = \"https://x\""}, why: "name"},
	{name: "local models", tool: "codex", argv: []string{"codex", "--oss"}, why: "--oss"},
	{
		name: "npx", tool: "codex", argv: []string{"npx", "-y", "@openai/codex@0.169.0", "exec", "hi"}, via: []string{"npx"}, env: []string{"CODEX_API_KEY=k"},
		args: []string{"npx", "-y", "@openai/codex@0.169.0", "-c", codexFlag("openai_base_url", "openai"), "exec", "hi"}, reaches: []Upstream{openai},
	},
	{
		name: "npx with a package", tool: "codex", argv: []string{"npx", "--package", "@openai/codex", "codex", "exec"}, via: []string{"npx"}, env: []string{"CODEX_API_KEY=k"},
		args: []string{"npx", "--package", "@openai/codex", "codex", "-c", codexFlag("openai_base_url", "openai"), "exec"}, reaches: []Upstream{openai},
	},
	{
		name: "node", tool: "codex", argv: []string{"env", "A=b", "node", "/usr/lib/node_modules/@openai/codex/bin/codex.js", "--", "-c"}, via: []string{"env", "node"}, env: []string{"CODEX_API_KEY=k"},
		args: []string{"env", "A=b", "node", "/usr/lib/node_modules/@openai/codex/bin/codex.js", "-c", codexFlag("openai_base_url", "openai"), "--", "-c"}, reaches: []Upstream{openai},
	},
	{name: "a line of a shell", tool: "codex", argv: []string{"sh", "-c", "codex exec hi"}, via: []string{"sh"}, env: []string{"CODEX_API_KEY=k"}, why: "start codex itself"},
}
