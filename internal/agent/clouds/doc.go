// Package clouds asks models where clouds have them: Azure OpenAI, Google's Vertex AI and Amazon Bedrock. What they take is
// what the makers of the models take, at other addresses and with other credentials, so each is a transport for one of the
// adapters:
//
//	model, err := anthropic.New(anthropic.Options{
//		BaseURL: "https://bedrock-runtime.eu-central-1.amazonaws.com", Model: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0", Provider: "bedrock",
//		HTTPClient: &http.Client{Transport: clouds.Bedrock{Credentials: credentials, Region: "eu-central-1"}},
//	})
//
// # What is sent
//
// [Azure] takes what package openai sends: the deployment in the path, api-key for the bearer token. [Vertex] takes what
// packages gemini and anthropic send, with an access token. [Bedrock] takes what package anthropic sends, as
// InvokeModelWithResponseStream, signed, and makes events of the frames that come back. Model, stream and version move between body
// and path; all else is sent as it was written. Models of other makers are asked by ConverseStream: there the request and the events
// are written anew.
//
// # Credentials
//
// [GoogleFile] and [GoogleMachine] get access tokens as Google's own libraries do: by a service account's key, by what
// `gcloud auth application-default login` left, or from the machine. They are kept until a minute before they end, and never shown.
package clouds
