package clients_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/azure"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

// childVariable makes this program a client in a run: it asks once, by a library that takes everything from the environment.
const childVariable = "PLIMSOLL_TEST_CHILD"

var children = map[string]func(context.Context) (string, error){"bedrock": askBedrock, "azure": askAzure}

func child(name string) int {
	said, err := children[name](context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(said)
	return 0
}

func askBedrock(ctx context.Context) (string, error) {
	c, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return "", err
	}
	answer, err := bedrockruntime.NewFromConfig(c).ConverseStream(ctx, &bedrockruntime.ConverseStreamInput{
		ModelId:  aws.String("us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
		Messages: []types.Message{{Role: types.ConversationRoleUser, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: "Hello?"}}}},
	})
	if err != nil {
		return "", err
	}
	stream := answer.GetStream()
	defer stream.Close()
	var said strings.Builder
	for event := range stream.Events() {
		if delta, ok := event.(*types.ConverseStreamOutputMemberContentBlockDelta); ok {
			if text, ok := delta.Value.Delta.(*types.ContentBlockDeltaMemberText); ok {
				said.WriteString(text.Value)
			}
		}
	}
	return said.String(), stream.Err()
}

func askAzure(ctx context.Context) (string, error) {
	client := openai.NewClient(azure.WithEndpoint(os.Getenv("AZURE_OPENAI_ENDPOINT"), "2024-10-21"), azure.WithAPIKey(os.Getenv("AZURE_OPENAI_API_KEY")))
	answer, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
		Model: "our-deployment", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hello?")},
	})
	if err != nil {
		return "", err
	}
	return answer.Choices[0].Message.Content, nil
}

// A child of a run asks clouds through the proxy with what its environment says. AWS's library for Go sends a key of Bedrock's own, and
// OpenAI's any of Azure, over TLS only.
func TestCloudsInARun(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env    func(url string) []string
		path   string
		header string
		key    string
	}{
		"bedrock": {
			func(url string) []string {
				return []string{"AWS_ENDPOINT_URL_BEDROCK_RUNTIME=" + url, "AWS_BEARER_TOKEN_BEDROCK=key-of-bedrock", "AWS_REGION=eu-west-1"}
			},
			"/model/us.anthropic.claude-sonnet-4-5-20250929-v1:0/converse-stream", "Authorization", "Bearer key-of-bedrock",
		},
		"azure": {
			func(url string) []string {
				return []string{"AZURE_OPENAI_ENDPOINT=" + url, "AZURE_OPENAI_API_KEY=key-of-azure"}
			},
			"/openai/deployments/our-deployment/chat/completions", "Api-Key", "key-of-azure",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := scripted.New(scripted.Options{Script: scripted.Replies(scripted.Reply{Text: "Here I am."}), Side: scripted.Replies(scripted.Reply{Text: "Here I am."})})
			server := httptest.NewTLSServer(p)
			defer server.Close()
			home := t.TempDir()
			roots := filepath.Join(home, "roots.pem") // what the person trusts, and plimsoll with them
			if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
				t.Fatal(err)
			}
			report := filepath.Join(home, "report.json")
			cmd := exec.Command(plimsoll, "run", "--quiet", "--force", "--proxy", "--report", report, "--", self)
			cmd.Dir = home
			cmd.Env = append([]string{
				"HOME=" + home, "PATH=" + os.Getenv("PATH"), "PLIMSOLL_STATE_DIR=" + filepath.Join(home, "state"), "AWS_EC2_METADATA_DISABLED=true", "SSL_CERT_FILE=" + roots, childVariable + "=" + name,
			}, c.env(server.URL)...)
			out, err := cmd.CombinedOutput()
			if err != nil || strings.TrimSpace(string(out)) != "Here I am." {
				t.Fatalf("%v\n%s", err, out)
			}
			var said struct{ Window struct{ Requests int } }
			text, err := os.ReadFile(report)
			if err != nil || json.Unmarshal(text, &said) != nil || said.Window.Requests != 1 {
				t.Errorf("%v, the report has %d requests", err, said.Window.Requests)
			}
			for _, r := range p.Requests() {
				if r.Kind == "model" && (r.Path != c.path || r.Header.Get(c.header) != c.key) {
					t.Errorf("it came to %s with %s: %s", r.Path, c.header, r.Header.Get(c.header))
				}
			}
			if strings.Contains(string(text), c.key) {
				t.Error("the report tells the key")
			}
		})
	}
}
