package sampledata

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const childVariable = "SAMPLEDATA_REGISTER_CHILD"

// TestMain lets the test binary stand in for another process that creates
// requests until it is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		os.Exit(child(dir, os.Args[len(os.Args)-1]))
	}
	os.Exit(m.Run())
}

// child creates one request after the other, half of them under keys that all
// children use, and prints each receipt once it has it.
func child(dir, name string) int {
	r, err := OpenRegister(dir)
	for i := 0; err == nil; i++ {
		key := fmt.Sprintf("shared/A%d", i)
		if i%2 == 1 {
			key = fmt.Sprintf("%s/A%d", name, i)
		}
		var got Receipt
		order := fmt.Sprint(i)
		if got, err = r.Create(context.Background(), key, request(order)); err == nil {
			fmt.Println(key, got.Reference)
		}
	}
	fmt.Println("error", err)
	return 1
}

// Processes are killed at random moments while others go on; what they were
// told is there, once, and nobody has to clean up.
func TestRegisterKill(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	dir := t.TempDir()
	given := map[string]string{}
	for round := range rounds {
		outputs := make(chan []string)
		for n := range 3 {
			go func() { outputs <- runAndKill(t, dir, fmt.Sprintf("p%d-%d", round, n)) }()
		}
		for range 3 {
			for _, line := range <-outputs {
				key, reference, _ := strings.Cut(line, " ")
				if key == "error" || given[key] != "" && given[key] != reference {
					t.Errorf("%s, given before: %s", line, given[key])
				}
				given[key] = reference
			}
		}
	}
	r := openRegister(t, dir)
	checkEntries(t, r.All(), given)
	if len(given) < rounds {
		t.Errorf("only %d requests in %d rounds", len(given), rounds)
	}
	create(t, r, "after/A1", "1", fmt.Sprintf("REQ-%04d", len(r.All())+1))
}

// runAndKill starts a child, kills it at a random moment after its first
// receipt, and returns the whole lines it printed.
func runAndKill(t *testing.T, dir, name string) []string {
	cmd := exec.Command(os.Args[0], name)
	cmd.Env = append(os.Environ(), childVariable+"="+dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return nil
	}
	var lines []string
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break
		}
		if lines = append(lines, strings.TrimSpace(line)); len(lines) == 1 {
			time.AfterFunc(rand.N(60*time.Millisecond), func() { cmd.Process.Kill() })
		}
	}
	cmd.Wait()
	return lines
}
