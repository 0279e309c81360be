package window

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"github.com/plimsoll/plimsoll/internal/window/proxy"
)

// signingTools are the variables by which tools are told to use Bedrock, whose requests are signed for their host.
var signingTools = []string{"CLAUDE_CODE_USE_BEDROCK"}

// bedrockKey is a key of Bedrock's own, which needs no signature.
const bedrockKey = "AWS_BEARER_TOKEN_BEDROCK"

// awsWait bounds the look for credentials: a role is asked of the machine's metadata service.
const awsWait = 3 * time.Second

// AWSCredentials returns the credentials that AWS's own tools would use; nil if there are none. They are renewed as they expire. If a tool's
// variable says that it uses Bedrock, they are fetched at once, else with the first request that has to be signed.
func AWSCredentials(ctx context.Context) *proxy.AWS {
	asked := slices.ContainsFunc(signingTools, func(name string) bool { return os.Getenv(name) != "" && os.Getenv(name) != "0" }) ||
		os.Getenv("LLM_PROVIDER") == "aws-bedrock"
	if !asked && !awsConfigured(ctx) {
		return nil
	}
	c, err := loadAWS(ctx)
	if err != nil {
		return nil
	}
	if asked {
		ctx, cancel := context.WithTimeout(ctx, awsWait)
		defer cancel()
		if _, err := c.Credentials.Retrieve(ctx); err != nil {
			return nil
		}
	}
	return &proxy.AWS{Credentials: c.Credentials, Region: c.Region}
}

// loadAWS reads the AWS settings of the environment and the user's files, for at most awsWait.
func loadAWS(ctx context.Context) (aws.Config, error) {
	ctx, cancel := context.WithTimeout(ctx, awsWait)
	defer cancel()
	// The library would write its warnings into the agent's standard error.
	return awsconfig.LoadDefaultConfig(ctx, awsconfig.WithLogger(logging.Nop{}))
}

// awsConfigured reports whether the environment or a profile has credentials. A machine's own role is not looked for: to ask for it takes
// seconds where there is none.
func awsConfigured(ctx context.Context) bool {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	profile := cmp.Or(os.Getenv("AWS_PROFILE"), os.Getenv("AWS_DEFAULT_PROFILE"), "default")
	c, err := awsconfig.LoadSharedConfigProfile(ctx, profile, func(o *awsconfig.LoadSharedConfigOptions) { o.Logger = logging.Nop{} })
	return err == nil && (c.Credentials.HasKeys() || c.CredentialProcess != "" || c.SSOSessionName != "" || c.SSOAccountID != "" || c.RoleARN != "" || c.WebIdentityTokenFile != "")
}

// signerFor returns a signer for an address of Bedrock, in the region that the address names, else in that of the environment or the profile.
// It is an error if there is no region.
func signerFor(ctx context.Context, address string) (*proxy.AWS, error) {
	c, err := loadAWS(ctx)
	if err != nil {
		return nil, fmt.Errorf("[upstream] bedrock: AWS's configuration cannot be read; `aws sts get-caller-identity` shows why: %w", err)
	}
	signer := &proxy.AWS{Credentials: c.Credentials, Region: c.Region}
	if u, err := url.Parse(address); err == nil {
		if _, rest, ok := strings.Cut(u.Hostname(), "bedrock-runtime."); ok && strings.HasSuffix(rest, ".amazonaws.com") {
			signer.Region, _, _ = strings.Cut(rest, ".")
		}
	}
	if signer.Region == "" {
		return nil, errors.New("[upstream] bedrock: its address names no region; set AWS_REGION")
	}
	return signer, nil
}
