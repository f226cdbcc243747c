package mcpserver

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"time"

	"orderdesk/runstore"
	"orderdesk/tools"
)

// Agents are the programs that may call over HTTP, each with a token of its
// own. A token is shown once, when it is made; only its SHA-256 is kept. It is
// 256 random bits, so a slow hash would guard nothing.
type Agents struct{ store *runstore.Store }

// NewAgents gives access to the agents kept in store.
func NewAgents(store *runstore.Store) *Agents { return &Agents{store: store} }

// Agent is what a list of agents shows.
type Agent struct {
	Name  string    `json:"name"`
	Added time.Time `json:"added"`
	By    string    `json:"by"` // who added it
}

// agentRecord is one agent, under agent/<name>.
type agentRecord struct {
	Agent
	Hash string `json:"hash"` // hex SHA-256 of the token
}

// AgentError says what is wrong with an agent's name. It is a sentence for
// people; Hint is what to type next.
type AgentError struct{ Text, Hint string }

func (e *AgentError) Error() string { return e.Text }

// ErrNoAgent says that a token is nobody's.
var ErrNoAgent = errors.New("the token is not known")

var agentName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,39}$`)

func agentKey(name string) runstore.Key { return runstore.NewKey("agent", name) }

func tokenKey(hash string) runstore.Key { return runstore.NewKey("agenttoken", hash) }

func tokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Add makes an agent and returns its token. Errors: [*AgentError].
func (a *Agents) Add(ctx context.Context, name, by string) (token string, err error) {
	if !agentName.MatchString(name) {
		return "", &AgentError{fmt.Sprintf("%s is not an agent's name; nothing recorded", tools.Quote(tools.Limit(name, 60))), "1 to 40 of a-z 0-9 . _ -"}
	}
	var b [32]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	token = "od_" + base64.RawURLEncoding.EncodeToString(b[:])
	err = a.store.Update(ctx, func(tx *runstore.Tx) error {
		var old agentRecord
		if err := tx.Get(agentKey(name), &old); !errors.Is(err, runstore.ErrNotFound) {
			if err == nil {
				err = &AgentError{"there is an agent " + name + " already; nothing recorded", "orderdesk agent remove " + name}
			}
			return err
		}
		r := agentRecord{Agent: Agent{Name: name, Added: tx.Now(), By: by}, Hash: tokenHash(token)}
		return errors.Join(tx.Put(agentKey(name), r), tx.Put(tokenKey(r.Hash), name),
			tx.Audit(runstore.AuditEntry{What: "agent_added", By: by}, map[string]string{"name": name}))
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// List returns the agents by name.
func (a *Agents) List(ctx context.Context) ([]Agent, error) {
	agents := []Agent{}
	err := a.store.View(ctx, func(tx *runstore.Tx) error {
		agents = agents[:0] // it may run again
		return tx.Scan(runstore.NewKey("agent"), "", func(_ string, get func(any) error) (bool, error) {
			var r agentRecord
			err := get(&r)
			agents = append(agents, r.Agent)
			return true, err
		})
	})
	return agents, err
}

// Remove takes an agent's token away, at once. Errors: [*AgentError].
func (a *Agents) Remove(ctx context.Context, name, by string) error {
	unknown := &AgentError{"there is no agent " + tools.Quote(tools.Limit(name, 60)), "orderdesk agent list"}
	if !agentName.MatchString(name) {
		return unknown
	}
	return a.store.Update(ctx, func(tx *runstore.Tx) error {
		var r agentRecord
		if err := tx.Get(agentKey(name), &r); errors.Is(err, runstore.ErrNotFound) {
			return unknown
		} else if err != nil {
			return err
		}
		return errors.Join(tx.Delete(agentKey(name)), tx.Delete(tokenKey(r.Hash)),
			tx.Audit(runstore.AuditEntry{What: "agent_removed", By: by}, map[string]string{"name": name}))
	})
}

// Authenticate finds whose token it is. Errors: [ErrNoAgent].
func (a *Agents) Authenticate(ctx context.Context, token string) (tools.Principal, error) {
	var name string
	err := a.store.View(ctx, func(tx *runstore.Tx) error { return tx.Get(tokenKey(tokenHash(token)), &name) })
	if errors.Is(err, runstore.ErrNotFound) {
		return tools.Principal{}, ErrNoAgent
	}
	return tools.Principal{Name: "agent:" + name}, err
}
