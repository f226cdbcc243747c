// Package tools says what may be asked. [Set.Call] is the one place where
// both doors meet: a call of an MCP host and a call of the built-in driver
// take the same path. Nothing below it knows of protocols or models; nothing
// above it decides anything.
//
// # A call
//
// A call that writes is one transaction: charge the budget, check the rules,
// apply, trace. All or nothing. A read is a transaction (charge; answer from
// the recorded fact if it is fresh), then the fetch outside with its retries,
// then a transaction (record fact or failure, count retries, trace). There is
// no network inside a transaction.
//
// # Two audiences
//
// A [Refusal] is an answer for the model: one plain sentence that says what to
// send instead. Any other error is ours; it is returned to the caller and never
// shown to a model.
//
// # Domains
//
// A [Domain] is one field of work: its tools, its words, its rules. This
// package knows items, facts, actions and notes, and two tools that every
// domain shares: plan_update and memory_save_note.
package tools
