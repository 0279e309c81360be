package demo

import (
	"strings"
	"testing"
)

func TestDemoOffersWhatIsThere(t *testing.T) {
	env := map[string]string{"OPENAI_API_KEY": "k", "ARGOCD_SERVER": "argocd.example", "ARGOCD_AUTH_TOKEN": "t"}
	model, argocd := Offers(func(name string) string { return env[name] })
	if !strings.HasPrefix(model, "openai/") || argocd != "argocd.example" {
		t.Errorf("%q and %q", model, argocd)
	}
	if model, argocd = Offers(func(string) string { return "" }); model != "" || argocd != "" {
		t.Errorf("out of nothing: %q and %q", model, argocd)
	}
}

func TestTheDemoTakesNothingRealUnasked(t *testing.T) {
	left := strings.Join(withoutUserSettings([]string{"PATH=/bin", "OPENAI_API_KEY=k", "ARGOCD_OPTS=--insecure", "PLIMSOLL_CONFIG=/x", "HOME=/h", "LLM_PROVIDER=x", "GEMINI_API_KEY=k", "AWS_SECRET_ACCESS_KEY=k"}), " ")
	if left != "PATH=/bin HOME=/h" {
		t.Errorf("left: %s", left)
	}
}
