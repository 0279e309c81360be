package a2a03

import (
	"encoding/json"
	"fmt"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
)

// Types of the members that only cards of 0.3 have.
type (
	security  map[sdk.SecuritySchemeName]sdk.SecuritySchemeScopes
	transport struct {
		Transport sdk.TransportProtocol `json:"transport"`
		URL       string                `json:"url"`
	}
	// scheme is a security scheme of HTTP with the members of both versions. No other kind is offered.
	scheme struct {
		Type         string                     `json:"type"`
		Description  string                     `json:"description,omitempty"`
		BearerFormat string                     `json:"bearerFormat,omitempty"`
		Scheme       string                     `json:"scheme"`
		Modern       sdk.HTTPAuthSecurityScheme `json:"http"`
	}
)

// bothCard is a card for clients of both versions, whose members have different names.
type bothCard struct {
	InputModes      []string                          `json:"defaultInputModes"`
	OutputModes     []string                          `json:"defaultOutputModes"`
	Description     string                            `json:"description"`
	Documentation   string                            `json:"documentationUrl,omitempty"`
	IconURL         string                            `json:"iconUrl,omitempty"`
	Name            string                            `json:"name"`
	Provider        *sdk.AgentProvider                `json:"provider,omitempty"`
	Signatures      []sdk.AgentCardSignature          `json:"signatures,omitempty"`
	Version         string                            `json:"version"`
	Skills          []bothSkill                       `json:"skills"`
	SecuritySchemes map[sdk.SecuritySchemeName]scheme `json:"securitySchemes,omitempty"`
	Capabilities    sdk.AgentCapabilities             `json:"capabilities"`
	Extended        bool                              `json:"supportsAuthenticatedExtendedCard,omitempty"`
	Interfaces      []*sdk.AgentInterface             `json:"supportedInterfaces"` // of 1.0, as the next
	Requirements    sdk.SecurityRequirementsOptions   `json:"securityRequirements,omitempty"`
	Additional      []transport                       `json:"additionalInterfaces,omitempty"` // of 0.3, as those below
	URL             string                            `json:"url"`
	ProtocolVersion sdk.ProtocolVersion               `json:"protocolVersion"`
	Preferred       sdk.TransportProtocol             `json:"preferredTransport,omitempty"`
	Security        []security                        `json:"security,omitempty"`
}

type bothSkill struct {
	sdk.AgentSkill
	Security []security `json:"security,omitempty"`
}

// Card returns a card of 1.0 as JSON, with the members of 0.3 added. It returns an error if none of its interfaces is of 0.3.
func Card(card *sdk.AgentCard) ([]byte, error) {
	out := bothCard{
		InputModes: card.DefaultInputModes, OutputModes: card.DefaultOutputModes, Description: card.Description,
		Documentation: card.DocumentationURL, IconURL: card.IconURL, Name: card.Name, Provider: card.Provider,
		Signatures: card.Signatures, Version: card.Version, Skills: []bothSkill{}, Capabilities: card.Capabilities,
		Extended: card.Capabilities.ExtendedAgentCard, Interfaces: card.SupportedInterfaces, Requirements: card.SecurityRequirements,
		ProtocolVersion: Version, Security: oldSecurity(card.SecurityRequirements),
	}
	for _, s := range card.Skills {
		out.Skills = append(out.Skills, bothSkill{s, oldSecurity(s.SecurityRequirements)})
	}
	for _, i := range card.SupportedInterfaces {
		switch {
		case i.ProtocolVersion != Version:
		case out.URL == "":
			out.URL, out.Preferred = i.URL, i.ProtocolBinding
		default:
			out.Additional = append(out.Additional, transport{i.ProtocolBinding, i.URL})
		}
	}
	if out.URL == "" {
		return nil, fmt.Errorf("the card has no interface of A2A %s", Version)
	}
	for name, s := range card.SecuritySchemes {
		http, ok := s.(sdk.HTTPAuthSecurityScheme)
		if !ok {
			return nil, fmt.Errorf("the security scheme %q is a %T; only those of HTTP are written for A2A %s", name, s, Version)
		}
		if out.SecuritySchemes == nil {
			out.SecuritySchemes = map[sdk.SecuritySchemeName]scheme{}
		}
		out.SecuritySchemes[name] = scheme{"http", http.Description, http.BearerFormat, http.Scheme, http}
	}
	return json.MarshalIndent(out, "", "  ")
}

func oldSecurity(list sdk.SecurityRequirementsOptions) []security {
	var out []security
	for _, r := range list {
		out = append(out, security(r))
	}
	return out
}

// card is a card of 0.3.
type card struct {
	Additional      []transport              `json:"additionalInterfaces,omitempty"`
	Capabilities    capabilities             `json:"capabilities"`
	InputModes      []string                 `json:"defaultInputModes"`
	OutputModes     []string                 `json:"defaultOutputModes"`
	Description     string                   `json:"description"`
	Documentation   string                   `json:"documentationUrl,omitempty"`
	IconURL         string                   `json:"iconUrl,omitempty"`
	Name            string                   `json:"name"`
	Preferred       sdk.TransportProtocol    `json:"preferredTransport,omitempty"`
	ProtocolVersion sdk.ProtocolVersion      `json:"protocolVersion"`
	Provider        *sdk.AgentProvider       `json:"provider,omitempty"`
	Signatures      []sdk.AgentCardSignature `json:"signatures,omitempty"`
	Skills          []skill                  `json:"skills"`
	Extended        bool                     `json:"supportsAuthenticatedExtendedCard,omitempty"`
	URL             string                   `json:"url"`
	Version         string                   `json:"version"`
}

type capabilities struct {
	Extensions        []sdk.AgentExtension `json:"extensions,omitempty"`
	PushNotifications bool                 `json:"pushNotifications,omitempty"`
	Streaming         bool                 `json:"streaming,omitempty"`
}

type skill struct {
	Description string   `json:"description"`
	Examples    []string `json:"examples,omitempty"`
	ID          string   `json:"id"`
	InputModes  []string `json:"inputModes,omitempty"`
	Name        string   `json:"name"`
	OutputModes []string `json:"outputModes,omitempty"`
	Tags        []string `json:"tags"`
}

// oldCard returns a card of 1.0 in the form of 0.3. The first interface becomes its address.
func oldCard(c *sdk.AgentCard) *card {
	out := &card{
		Capabilities: capabilities{c.Capabilities.Extensions, c.Capabilities.PushNotifications, c.Capabilities.Streaming},
		InputModes:   c.DefaultInputModes, OutputModes: c.DefaultOutputModes, Description: c.Description, Documentation: c.DocumentationURL,
		IconURL: c.IconURL, Name: c.Name, Provider: c.Provider, Signatures: c.Signatures, Extended: c.Capabilities.ExtendedAgentCard, Version: c.Version,
	}
	for _, s := range c.Skills {
		out.Skills = append(out.Skills, skill{s.Description, s.Examples, s.ID, s.InputModes, s.Name, s.OutputModes, s.Tags})
	}
	for i, at := range c.SupportedInterfaces {
		if i == 0 {
			out.URL, out.Preferred, out.ProtocolVersion = at.URL, at.ProtocolBinding, at.ProtocolVersion
		}
		out.Additional = append(out.Additional, transport{at.ProtocolBinding, at.URL})
	}
	return out
}
