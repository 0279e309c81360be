package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/agent/clouds"
	"github.com/plimsoll/plimsoll/internal/config"
)

// Variables of clouds that are read in more than one place.
const (
	azureVersion      = "AZURE_OPENAI_API_VERSION"
	bedrockKey        = "AWS_BEARER_TOKEN_BEDROCK"
	googleCredentials = "GOOGLE_APPLICATION_CREDENTIALS"
)

// googleProjects, googleLocations and awsRegions are variables of the clouds' own libraries.
var (
	googleProjects  = []string{"GOOGLE_CLOUD_PROJECT", "GCP_PROJECT"}
	googleLocations = []string{"GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION"}
	awsRegions      = []string{"AWS_REGION", "AWS_DEFAULT_REGION"}
)

func awsRegion(getenv func(string) string) string { return firstSet(getenv, awsRegions) }

// vertexLocation returns the location of Vertex AI to use; Google's own default is "global".
func vertexLocation(getenv func(string) string) string {
	if set := firstSet(getenv, googleLocations); set != "" {
		return set
	}
	return "global"
}

// cloudMissing returns an error that names the variables without which a cloud cannot be asked, or says that Vertex AI is not asked for this
// model; nil if neither is so.
func cloudMissing(m modelChoice, s *service, getenv func(string) string) error {
	var missing []string
	need := func(names ...string) {
		if firstSet(getenv, names) == "" {
			missing = append(missing, names[0])
		}
	}
	if m.name == "" {
		need(s.modelVars...)
	}
	switch s.name {
	case "azure":
		need(s.urlVars...)
		need(s.keys...)
	case "bedrock":
		need(awsRegions...)
	}
	why := m.provider
	if m.why == "LLM_PROVIDER" || serviceOf(getenv("LLM_PROVIDER")) == s {
		why = "LLM_PROVIDER=" + strings.TrimSpace(getenv("LLM_PROVIDER"))
	}
	switch name := strings.ToLower(m.name); {
	case len(missing) > 0:
		return fmt.Errorf("%s cannot be asked: set %s", why, strings.Join(missing, ", "))
	case s.name == "vertex" && !strings.HasPrefix(name, "gemini-") && !strings.HasPrefix(name, "claude-"):
		return fmt.Errorf("%s cannot be asked for %s: of Vertex AI's models gemini-… and claude-… are", why, m.name)
	}
	return nil
}

// credentialsTime bounds the search for credentials, which may ask the machine's metadata service for a role.
const credentialsTime = 5 * time.Second

// cloudModel returns the model of a cloud, with credentials from the environment. client may be nil.
func cloudModel(ctx context.Context, m modelChoice, c config.Agent, client *http.Client, getenv func(string) string) (agent.Model, error) {
	var next http.RoundTripper
	if client != nil {
		next = client.Transport
	}
	by := func(t http.RoundTripper) *http.Client { return &http.Client{Transport: t} }
	name := strings.ToLower(m.name)
	switch m.provider {
	case "azure":
		key := strings.TrimSpace(getenv(m.keyEnv))
		return modelWithKey(m, key, c, by(clouds.Azure{Deployment: m.name, Version: strings.TrimSpace(getenv(azureVersion)), Next: next}))
	case "vertex":
		google, err := googleOf(getenv, next)
		if err != nil {
			return nil, fmt.Errorf("vertex cannot be asked: %w", err)
		}
		project := firstSet(getenv, googleProjects)
		project = cmp.Or(project, google.Project)
		if project == "" {
			return nil, errors.New("vertex cannot be asked: no project is named; set GOOGLE_CLOUD_PROJECT")
		}
		of := by(clouds.Vertex{Project: project, Location: vertexLocation(getenv), Token: google.Token, Next: next})
		if strings.HasPrefix(name, "claude-") {
			return anthropicModel(m, "", c, of)
		}
		return geminiModel(m, "", c, of)
	}
	b := clouds.Bedrock{Key: strings.TrimSpace(getenv(bedrockKey)), Region: awsRegion(getenv), Converse: !anthropicOfBedrock(name), Next: next}
	if b.Key == "" {
		ctx, cancel := context.WithTimeout(ctx, credentialsTime)
		defer cancel()
		// The library would write its warnings into standard error.
		found, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithLogger(logging.Nop{}))
		if err == nil {
			_, err = found.Credentials.Retrieve(ctx)
		}
		if err != nil { // the cause may quote a profile
			return nil, errors.New("bedrock cannot be asked: there are no AWS credentials; set AWS_PROFILE, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or " + bedrockKey + "; `aws sts get-caller-identity` shows what AWS finds")
		}
		b.Credentials = found.Credentials
	}
	return anthropicModel(m, "", c, by(b))
}

// anthropicOfBedrock reports whether a model of Bedrock is called by Anthropic's API. An inference profile that names no maker counts as
// theirs, so that it keeps its cache.
func anthropicOfBedrock(name string) bool {
	return strings.Contains(name, "anthropic.") || strings.Contains(name, ":application-inference-profile/")
}

// googleOf returns Google's credentials, found as its own libraries do: in the named file, in gcloud's, or from the machine.
func googleOf(getenv func(string) string, next http.RoundTripper) (*clouds.Google, error) {
	if file := strings.TrimSpace(getenv(googleCredentials)); file != "" {
		if rest, ok := strings.CutPrefix(file, "~/"); ok {
			file = filepath.Join(getenv("HOME"), rest)
		}
		g, err := clouds.GoogleFile(file, next)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", googleCredentials, err)
		}
		return g, nil
	}
	if dir, err := os.UserConfigDir(); err == nil {
		file := filepath.Join(dir, "gcloud", "application_default_credentials.json")
		if home := getenv("HOME"); home != "" && getenv("XDG_CONFIG_HOME") == "" {
			file = filepath.Join(home, ".config", "gcloud", "application_default_credentials.json")
		}
		if _, err := os.Stat(file); err == nil {
			return clouds.GoogleFile(file, next)
		}
	}
	if host := strings.TrimSpace(getenv("GCE_METADATA_HOST")); host != "" {
		return clouds.GoogleMachine(host), nil
	}
	if at, err := os.ReadFile("/sys/class/dmi/id/product_name"); err == nil && strings.Contains(string(at), "Google") {
		return clouds.GoogleMachine("metadata.google.internal"), nil
	}
	return nil, errors.New("there are no credentials; set " + googleCredentials + " to a file of them, or run gcloud auth application-default login")
}
