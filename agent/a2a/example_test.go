package a2a_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/agent/a2a"
)

// An executor that answers with one artifact.
func Example() {
	server, err := a2a.New(a2a.Options{
		Name: "echo",
		Executor: a2a.ExecutorFunc(func(_ context.Context, x *a2a.Exchange) error {
			return x.Emit(sdk.NewArtifactEvent(x, sdk.NewTextPart("you said: "+x.Message.Parts[0].Text())))
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close(context.Background()) }()
	web := httptest.NewServer(server)
	defer web.Close()

	body := `{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"hello"}]}}`
	r, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, web.URL+"/message:send", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	resp, err := web.Client().Do(r)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	answer, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, strings.Contains(string(answer), "you said: hello"))
	// Output: 200 true
}
