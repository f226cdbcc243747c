package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"orderdesk/tools"
)

// The official conformance suite checks a server by tools, prompts and resources
// with names and answers that it lays down. They are here so that it can be run
// against the real front and the real server; [Options.Conformance] adds them,
// and nothing but a hidden flag sets that. None of them reaches a run.

// conformer is who calls while the suite runs: it cannot authenticate.
var conformer = tools.Principal{Name: "agent:conformance"}

const (
	// The smallest PNG and WAV files that decoders take.
	tinyPNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	tinyWAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

// addConformance adds what the suite asks for.
func addConformance(s *server.MCPServer) {
	addContentFixtures(s)
	addNoticeFixtures(s)
	addSchemaFixtures(s)
	addQuestionFixtures(s)
	addResourceFixtures(s)
	addPromptFixtures(s)
}

type toolAnswer func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error)

func addFixture(s *server.MCPServer, name string, answer toolAnswer, options ...mcp.ToolOption) {
	options = append([]mcp.ToolOption{mcp.WithDescription("For the conformance suite: " + name + ".")}, options...)
	s.AddTool(mcp.NewTool(name, options...), server.ToolHandlerFunc(answer))
}

// always answers with the same result.
func always(res *mcp.CallToolResult) toolAnswer {
	return func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { return res, nil }
}

func embedded(uri, mime, text string) mcp.Content {
	return mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: uri, MIMEType: mime, Text: text})
}

func addContentFixtures(s *server.MCPServer) {
	content := func(c ...mcp.Content) toolAnswer { return always(&mcp.CallToolResult{Content: c}) }
	addFixture(s, "test_simple_text", content(mcp.NewTextContent("This is a simple text response for testing.")))
	addFixture(s, "test_image_content", content(mcp.NewImageContent(tinyPNG, "image/png")))
	addFixture(s, "test_audio_content", content(mcp.NewAudioContent(tinyWAV, "audio/wav")))
	addFixture(s, "test_embedded_resource", content(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")))
	addFixture(s, "test_multiple_content_types", content(mcp.NewTextContent("Multiple content types test:"), mcp.NewImageContent(tinyPNG, "image/png"),
		embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)))
	addFixture(s, "test_error_handling", always(mcp.NewToolResultError("This tool intentionally returns an error for testing")))
	addFixture(s, "test_missing_capability", always(mcp.NewToolResultText("The client can sample.")))
}

// betweenNotices is how long these tools pause: the suite wants to see that
// notifications come while a tool works.
const betweenNotices = 50 * time.Millisecond

func addNoticeFixtures(s *server.MCPServer) {
	lines := []string{"Tool execution started", "Tool processing data", "Tool execution completed"}
	addFixture(s, "test_tool_with_logging", noticing(s, "notifications/message", len(lines), func(_ mcp.CallToolRequest, i int) map[string]any {
		return map[string]any{"level": "info", "data": lines[i]}
	}))
	addFixture(s, "test_tool_with_progress", noticing(s, "notifications/progress", 3, func(r mcp.CallToolRequest, i int) map[string]any {
		if r.Params.Meta == nil || r.Params.Meta.ProgressToken == nil {
			return nil
		}
		return map[string]any{"progressToken": r.Params.Meta.ProgressToken, "progress": 50 * i, "total": 100}
	}))
	addFixture(s, "test_logging_tool", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, line := range lines {
			err := s.SendLogMessageToClient(ctx, mcp.NewLoggingMessageNotification(mcp.LoggingLevelInfo, "conformance", line))
			if err != nil {
				return nil, err
			}
		}
		drain(ctx)
		return mcp.NewToolResultText("logged"), nil
	})
}

// noticing sends n notifications and then answers.
func noticing(s *server.MCPServer, method string, n int, params func(mcp.CallToolRequest, int) map[string]any) toolAnswer {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range n {
			if p := params(r, i); p != nil {
				if err := s.SendNotificationToClient(ctx, method, p); err != nil {
					return nil, err
				}
			}
			time.Sleep(betweenNotices)
		}
		drain(ctx)
		return mcp.NewToolResultText("Tool executed successfully"), nil
	}
}

// drain waits until the notifications of a call are on their way: the library
// drops what is queued when the answer goes out.
func drain(ctx context.Context) {
	session := server.ClientSessionFromContext(ctx)
	if session == nil {
		return
	}
	for i := 0; i < 100 && len(session.NotificationChannel()) > 0; i++ {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(2 * time.Millisecond)
}

func addSchemaFixtures(s *server.MCPServer) {
	ok := server.ToolHandlerFunc(always(mcp.NewToolResultText("ok")))
	s.AddTool(mcp.NewToolWithRawSchema("json_schema_2020_12_tool", "For the conformance suite: words of JSON Schema 2020-12.", json.RawMessage(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false,
		"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
		"properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "phone": {"type": "string"}, "email": {"type": "string"},
			"contactMethod": {"type": "string", "enum": ["phone", "email"]}},
		"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
		"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]}, "then": {"required": ["phone"]}, "else": {"required": ["email"]}}`)), ok)
	s.AddTool(mcp.NewToolWithRawSchema("test_custom_headers", "For the conformance suite: an argument that is sent as a header too.", json.RawMessage(`{
		"type": "object", "required": ["region"],
		"properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "query": {"type": "string"}}}`)), ok)
}

func addResourceFixtures(s *server.MCPServer) {
	s.AddResource(mcp.NewResource("test://static-text", "static-text", mcp.WithMIMEType("text/plain")), oneResource(func(uri string) mcp.ResourceContents {
		return mcp.TextResourceContents{URI: uri, MIMEType: "text/plain", Text: "This is the content of the static text resource."}
	}))
	s.AddResource(mcp.NewResource("test://static-binary", "static-binary", mcp.WithMIMEType("image/png")), oneResource(func(uri string) mcp.ResourceContents {
		return mcp.BlobResourceContents{URI: uri, MIMEType: "image/png", Blob: tinyPNG}
	}))
	s.AddResourceTemplate(mcp.NewResourceTemplate("test://template/{id}/data", "template"), server.ResourceTemplateHandlerFunc(oneResource(func(uri string) mcp.ResourceContents {
		id := strings.TrimSuffix(strings.TrimPrefix(uri, "test://template/"), "/data")
		text, _ := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
		return mcp.TextResourceContents{URI: uri, MIMEType: "application/json", Text: string(text)}
	})))
}

func oneResource(read func(uri string) mcp.ResourceContents) server.ResourceHandlerFunc {
	return func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{read(r.Params.URI)}, nil
	}
}

func addPromptFixtures(s *server.MCPServer) {
	text := func(t string) mcp.Content { return mcp.NewTextContent(t) }
	add := func(name string, say func(map[string]string) []mcp.Content, args ...string) {
		options := []mcp.PromptOption{mcp.WithPromptDescription("For the conformance suite: " + name + ".")}
		for _, arg := range args {
			options = append(options, mcp.WithArgument(arg, mcp.RequiredArgument(), mcp.ArgumentDescription(arg)))
		}
		s.AddPrompt(mcp.NewPrompt(name, options...), func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			res := &mcp.GetPromptResult{}
			for _, c := range say(r.Params.Arguments) {
				res.Messages = append(res.Messages, mcp.NewPromptMessage(mcp.RoleUser, c))
			}
			return res, nil
		})
	}
	add("test_simple_prompt", func(map[string]string) []mcp.Content {
		return []mcp.Content{text("This is a simple prompt for testing.")}
	})
	add("test_prompt_with_arguments", func(a map[string]string) []mcp.Content {
		return []mcp.Content{text(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"]))}
	}, "arg1", "arg2")
	add("test_prompt_with_embedded_resource", func(a map[string]string) []mcp.Content {
		return []mcp.Content{embedded(a["resourceUri"], "text/plain", "Embedded resource content for testing."), text("Please process the embedded resource above.")}
	}, "resourceUri")
	add("test_prompt_with_image", func(map[string]string) []mcp.Content {
		return []mcp.Content{mcp.NewImageContent(tinyPNG, "image/png"), text("Please analyze the image above.")}
	})
}

// needsSampling answers for the one fixture that requires something of the
// client: the library cannot send that error.
func needsSampling(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") != "tools/call" || r.Header.Get("Mcp-Name") != "test_missing_capability" {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Params struct {
				Meta struct {
					Can map[string]json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
				} `json:"_meta"`
			}
		}
		if err = errors.Join(err, json.Unmarshal(body, &m)); err != nil || m.Params.Meta.Can["sampling"] != nil {
			r.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"the client cannot sample","data":{"requiredCapabilities":{"sampling":{}}}}}`,
			m.ID, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY)
	})
}
