package window

import (
	"context"
	"os"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"github.com/plimsoll/plimsoll/window/proxy"
)

// signingTools are the variables by which tools are told to use Bedrock, whose requests are
// signed for their host.
var signingTools = []string{"CLAUDE_CODE_USE_BEDROCK"}

// awsWait bounds the look for credentials: a role is asked of the machine's metadata service.
const awsWait = 3 * time.Second

// AWSCredentials finds the credentials that AWS's own tools would use; nil when no tool asks
// for Bedrock or there are none. They are asked for anew as they expire.
func AWSCredentials(ctx context.Context) *proxy.AWS {
	wanted := false
	for _, name := range signingTools {
		wanted = wanted || os.Getenv(name) != "" && os.Getenv(name) != "0"
	}
	if !wanted {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, awsWait)
	defer cancel()
	// The library would write its warnings into the agent's standard error.
	c, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithLogger(logging.Nop{}))
	if err != nil {
		return nil
	}
	if _, err := c.Credentials.Retrieve(ctx); err != nil {
		return nil
	}
	return &proxy.AWS{Credentials: c.Credentials, Region: c.Region}
}
