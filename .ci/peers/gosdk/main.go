// Command gosdk works through a recorded list of tool calls with the client of
// the official Go SDK: one half, a new connection, the other half. It prints the
// id of the run.
//
//	gosdk TRANSPORT ERA SCRIPT TARGET...
//
// The arguments are those of replay.mjs, and so is what it expects.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := replay(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gosdk:", err)
		os.Exit(1)
	}
}

// script is what a client replays, and what lists answer.
type script struct {
	Calls []struct {
		Name string
		Args map[string]any
	}
	Answer         string
	Tools, Prompts []string
}

func replay(ctx context.Context, args []string) error {
	if len(args) < 4 {
		return errors.New("want TRANSPORT ERA SCRIPT TARGET...")
	}
	raw, err := os.ReadFile(args[2])
	if err != nil {
		return err
	}
	var s script
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	p := &peer{transport: args[0], era: args[1], target: args[3:], token: os.Getenv("PEERS_TOKEN")}
	if err := firstHalf(ctx, p, &s); err != nil {
		return fmt.Errorf("first connection: %w", err)
	}
	if err := secondHalf(ctx, p, &s); err != nil {
		return fmt.Errorf("second connection: %w", err)
	}
	fmt.Println(p.run)
	return nil
}

func firstHalf(ctx context.Context, p *peer, s *script) error {
	if err := p.connect(ctx); err != nil {
		return err
	}
	if err := p.call(ctx, "run_start", nil, "running"); err != nil {
		return err
	}
	for _, c := range s.Calls[:len(s.Calls)/2] {
		if err := p.call(ctx, c.Name, c.Args, ""); err != nil {
			return err
		}
	}
	return p.session.Close()
}

func secondHalf(ctx context.Context, p *peer, s *script) error {
	if err := p.connect(ctx); err != nil {
		return err
	}
	if err := p.call(ctx, "run_status", nil, "running"); err != nil {
		return err
	}
	if err := p.read(ctx, s); err != nil {
		return err
	}
	for _, c := range s.Calls[len(s.Calls)/2:] {
		if err := p.call(ctx, c.Name, c.Args, ""); err != nil {
			return err
		}
	}
	if err := p.call(ctx, "run_finish", map[string]any{"answer": s.Answer}, "waiting_for_approval"); err != nil {
		return err
	}
	return p.session.Close()
}
