package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// noopServer is nothing but the library with a tool that does nothing.
func noopServer() *server.MCPServer {
	s := server.NewMCPServer("bare", "1")
	s.AddTool(mcp.NewTool("noop"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("{}"), nil
	})
	return s
}

// caller is an MCP client of the library's with a run of its own.
type benchCaller struct {
	b      *testing.B
	client *client.Client
	run    string
}

func newBenchCaller(b *testing.B, t transport.Interface, era string) *benchCaller {
	b.Helper()
	c := &benchCaller{b: b, client: client.NewClient(t, client.WithProtocolVersion(era))}
	if err := c.client.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	var init mcp.InitializeRequest
	init.Params.ProtocolVersion, init.Params.ClientInfo = era, mcp.Implementation{Name: "bench", Version: "1"}
	if _, err := c.client.Initialize(b.Context(), init); err != nil {
		b.Fatal(err)
	}
	return c
}

func (c *benchCaller) call(name, args string) string {
	var r mcp.CallToolRequest
	r.Params.Name, r.Params.Arguments = name, json.RawMessage(args)
	res, err := c.client.CallTool(c.b.Context(), r)
	if err != nil || res.IsError {
		c.b.Errorf("%s: %v, %+v", name, err, res)
		return ""
	}
	return res.Content[0].(mcp.TextContent).Text
}

// begin starts the caller's run.
func (c *benchCaller) begin() {
	c.run = anyRunID.FindString(c.call("run_start", "{}"))
	c.call(list, `{"sales_organization":"1010","run_id":"`+c.run+`"}`)
}

// write makes one durable call: a line of the plan, with a new note.
func (c *benchCaller) write(n int) {
	order := []string{"4711", "4723", "4725", "4740"}[n%4]
	c.call("plan_update", fmt.Sprintf(`{"items":[{"sales_order":"%s","status":"todo","note":"%d"}],"run_id":"%s"}`, order, n, c.run))
}

// BenchmarkDurableCalls compares a tool that records a durable step with one
// that does nothing, of a server that is nothing but the library, over the same
// transport with 8 callers. The two take turns, so that both meet the same
// machine; "ratio" is how many calls per second the first makes of the second's.
func BenchmarkDurableCalls(b *testing.B) {
	for _, era := range []string{"2025-11-25", "2026-07-28"} {
		b.Run("http "+era, func(b *testing.B) {
			plain := httptest.NewServer(server.NewStreamableHTTPServer(noopServer(), server.WithStateful(true)))
			defer plain.Close()
			_, url, token, _ := loadSite(b)
			http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 16
			dial := func(url string) *benchCaller {
				t, err := transport.NewStreamableHTTP(url, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
				if err != nil {
					b.Fatal(err)
				}
				return newBenchCaller(b, t, era)
			}
			compare(b, func() *benchCaller { return dial(plain.URL + "/mcp") }, func() *benchCaller { return dial(url + "/mcp") })
		})
		b.Run("stdio "+era, func(b *testing.B) {
			d, _, _, _ := loadSite(b)
			serve := func(listen func(io.Reader, io.Writer) error) func() *benchCaller {
				fromHost, in := io.Pipe()
				out, toHost := io.Pipe()
				go func() { _ = listen(fromHost, toHost); toHost.Close() }()
				c := newBenchCaller(b, transport.NewIO(out, in, io.NopCloser(strings.NewReader(""))), era)
				b.Cleanup(func() { in.Close() })
				return func() *benchCaller { return &benchCaller{b: b, client: c.client} } // one host makes 8 calls at a time
			}
			compare(b, serve(func(in io.Reader, out io.Writer) error {
				return server.NewStdioServer(noopServer()).Listen(context.Background(), in, out)
			}),
				serve(func(in io.Reader, out io.Writer) error {
					return d.hosts.ServeStdio(context.Background(), in, out, anna)
				}))
		})
	}
}

// compare lets 8 callers of each kind make their calls, in turns.
func compare(b *testing.B, noop, durable func() *benchCaller) {
	b.Helper()
	var idle, busy [8]*benchCaller
	for i := range idle {
		idle[i], busy[i] = noop(), durable()
		busy[i].begin()
	}
	const batch = 200
	var quick, slow time.Duration
	for n := 0; b.Loop(); n++ {
		quick += together(idle[:], func(c *benchCaller) {
			for range batch {
				c.call("noop", "{}")
			}
		})
		slow += together(busy[:], func(c *benchCaller) {
			for i := range batch {
				c.write(n*batch + i)
			}
		})
	}
	b.ReportMetric(quick.Seconds()/slow.Seconds(), "ratio")
	b.ReportMetric(float64(b.N*batch*8)/slow.Seconds(), "durable/s")
	b.ReportMetric(float64(b.N*batch*8)/quick.Seconds(), "noop/s")
}

// together has every caller do its part and returns how long that took.
func together(all []*benchCaller, do func(*benchCaller)) time.Duration {
	begin := time.Now()
	var wg sync.WaitGroup
	for _, c := range all {
		wg.Go(func() { do(c) })
	}
	wg.Wait()
	return time.Since(begin)
}
