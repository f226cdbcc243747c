package mcpserver

import (
	"context"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// The suite's tools that ask the client something before they answer.

func form(message string, properties map[string]any, required ...string) mcp.ElicitationParams {
	schema := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return mcp.ElicitationParams{Mode: mcp.ElicitationModeForm, Message: message, RequestedSchema: schema}
}

func sampling(text string, tokens int) mcp.CreateMessageParams {
	return mcp.CreateMessageParams{MaxTokens: tokens, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent(text)}}}
}

func typed(kind string) map[string]any { return map[string]any{"type": kind} }

func text(format string, args ...any) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText(fmt.Sprintf(format, args...)), nil
}

func addQuestionFixtures(s *server.MCPServer) {
	addFormFixtures(s)
	addRoundFixtures(s)
	addStateFixtures(s)
}

// asking elicits a form and answers with what came back.
func asking(label string, ask func(mcp.CallToolRequest) mcp.ElicitationParams) toolAnswer {
	return func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if a := server.ElicitationResponse(r.Params.InputResponses, "form"); a != nil {
			return text("%s: action=%s, content=%v", label, a.Action, a.Content)
		}
		return server.NewInputRequestBuilder("").Elicit("form", ask(r)).ToolResult(), nil
	}
}

func addFormFixtures(s *server.MCPServer) {
	addFixture(s, "test_elicitation", asking("User response", func(r mcp.CallToolRequest) mcp.ElicitationParams {
		return form(r.GetString("message", ""), map[string]any{"username": typed("string"), "email": typed("string")}, "username", "email")
	}), mcp.WithString("message", mcp.Required()))
	addFixture(s, "test_streaming_elicitation", asking("ok", func(mcp.CallToolRequest) mcp.ElicitationParams {
		return form("Anything?", map[string]any{"a": typed("string")})
	}))
	with := func(kind string, more ...any) map[string]any {
		m := typed(kind)
		for i := 0; i+1 < len(more); i += 2 {
			m[more[i].(string)] = more[i+1]
		}
		return m
	}
	addFixture(s, "test_elicitation_sep1034_defaults", asking("Elicitation completed", func(mcp.CallToolRequest) mcp.ElicitationParams {
		return form("Please check these.", map[string]any{
			"name": with("string", "default", "John Doe"), "age": with("integer", "default", 30), "score": with("number", "default", 95.5),
			"status":   with("string", "enum", []string{"active", "inactive", "pending"}, "default", "active"),
			"verified": with("boolean", "default", true),
		})
	}))
	titled := func(value, title string) map[string]any { return map[string]any{"const": value, "title": title} }
	two := []any{titled("value1", "Value One"), titled("value2", "Value Two")}
	addFixture(s, "test_elicitation_sep1330_enums", asking("Elicitation completed", func(mcp.CallToolRequest) mcp.ElicitationParams {
		return form("Please choose.", map[string]any{
			"untitledSingle": with("string", "enum", []string{"option1", "option2"}),
			"titledSingle":   with("string", "oneOf", two),
			"legacyEnum":     with("string", "enum", []string{"opt1", "opt2"}, "enumNames", []string{"Option One", "Option Two"}),
			"untitledMulti":  with("array", "items", with("string", "enum", []string{"option1", "option2"})),
			"titledMulti":    with("array", "items", map[string]any{"anyOf": two}),
		})
	}))
	addFixture(s, "test_sampling", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if a := server.SamplingResponse(r.Params.InputResponses, "sample"); a != nil {
			return text("LLM response: %s", mcp.GetTextFromContent(a.Content))
		}
		return server.NewInputRequestBuilder("").Sample("sample", sampling(r.GetString("prompt", ""), 100)).ToolResult(), nil
	}, mcp.WithString("prompt", mcp.Required()))
}

var askName = form("What is your name?", map[string]any{"name": typed("string")}, "name")

func addRoundFixtures(s *server.MCPServer) {
	addFixture(s, "test_input_required_result_elicitation", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if a := server.ElicitationResponse(r.Params.InputResponses, "user_name"); a != nil {
			content, _ := a.Content.(map[string]any)
			return text("Hello, %v!", content["name"])
		}
		return server.NewInputRequestBuilder("").Elicit("user_name", askName).ToolResult(), nil
	})
	addFixture(s, "test_input_required_result_sampling", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if a := server.SamplingResponse(r.Params.InputResponses, "capital_question"); a != nil {
			return text("The client says: %s", mcp.GetTextFromContent(a.Content))
		}
		return server.NewInputRequestBuilder("").Sample("capital_question", sampling("What is the capital of France?", 100)).ToolResult(), nil
	})
	addFixture(s, "test_input_required_result_list_roots", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if a := server.RootsResponse(r.Params.InputResponses, "client_roots"); a != nil {
			return text("%d roots", len(a.Roots))
		}
		return server.NewInputRequestBuilder("").Roots("client_roots").ToolResult(), nil
	})
	addFixture(s, "test_input_required_result_capabilities", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ask := server.NewInputRequestBuilder("")
		if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.ClientCapabilities != nil {
			if info.ClientCapabilities.Sampling != nil {
				ask.Sample("greeting", sampling("Generate a greeting", 50))
			}
			if info.ClientCapabilities.Elicitation != nil {
				ask.Elicit("user_name", askName)
			}
		}
		return ask.ToolResult(), nil
	})
	s.AddPrompt(mcp.NewPrompt("test_input_required_result_prompt", mcp.WithPromptDescription("For the conformance suite: asks first.")),
		func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			if server.ElicitationResponse(r.Params.InputResponses, "user_context") != nil {
				return mcp.NewGetPromptResult("", []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent("Thank you."))}), nil
			}
			return server.NewInputRequestBuilder("").Elicit("user_context", form("What context should the prompt use?", map[string]any{"context": typed("string")}, "context")).PromptResult(), nil
		})
}

// addStateFixtures adds the tools whose question carries a state that must come
// back unchanged. It is sealed like an id.
func addStateFixtures(s *server.MCPServer) {
	seal, err := newIDBook()
	if err != nil {
		return // the suite will miss them
	}
	confirm := form("Please confirm", map[string]any{"ok": typed("boolean")}, "ok")
	stateful := func(needsAnswer bool) toolAnswer {
		return func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answered := server.ElicitationResponse(r.Params.InputResponses, "confirm") != nil
			if !answered && (needsAnswer || r.Params.RequestState == "") {
				return server.NewInputRequestBuilder(seal.sealed("asked")).Elicit("confirm", confirm).ToolResult(), nil
			}
			if seal.opened(r.Params.RequestState) != "asked" {
				return nil, errors.New("the requestState was changed")
			}
			return text("state-ok")
		}
	}
	addFixture(s, "test_input_required_result_request_state", stateful(true))
	addFixture(s, "test_input_required_result_tampered_state", stateful(false))
	addFixture(s, "test_input_required_result_multiple_inputs", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		got := r.Params.InputResponses
		if server.ElicitationResponse(got, "user_name") != nil && server.SamplingResponse(got, "greeting") != nil && server.RootsResponse(got, "client_roots") != nil {
			return text("all answered")
		}
		return server.NewInputRequestBuilder(seal.sealed("asked")).Elicit("user_name", askName).Sample("greeting", sampling("Generate a greeting", 50)).Roots("client_roots").ToolResult(), nil
	})
	addFixture(s, "test_input_required_result_multi_round", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		state, got := seal.opened(r.Params.RequestState), r.Params.InputResponses
		switch {
		case state == "second" && server.ElicitationResponse(got, "step2") != nil:
			return text("both answered")
		case state == "first" && server.ElicitationResponse(got, "step1") != nil:
			return server.NewInputRequestBuilder(seal.sealed("second")).Elicit("step2", form("Step 2: What is your favorite color?", map[string]any{"color": typed("string")}, "color")).ToolResult(), nil
		}
		return server.NewInputRequestBuilder(seal.sealed("first")).Elicit("step1", form("Step 1: What is your name?", map[string]any{"name": typed("string")}, "name")).ToolResult(), nil
	})
}
