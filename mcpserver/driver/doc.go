// Package driver is the built-in host: it works a run to its end with a model,
// headless, through the same [tools.Set.Call] as every other host.
//
// # The run is not in the model
//
// A segment is one context of the model. It starts with a briefing rebuilt from
// the saved state and ends when the context has grown past the run's compact_at
// limit; the next one starts from the state again. A crash, a pause or a full
// context therefore loses nothing but the segment.
//
// # Steps and commits
//
// Every model call is reserved in the store before it is made. The commit that
// records a call's result reserves the next model call, so a writing step costs
// one synced commit and a reading step two.
//
// # Stops
//
// A run stops for a typed reason: a budget, a guard, the model's failure, an
// interruption. When the model answers, [tools.Set.Finish] decides from the
// plan what the run's status is.
package driver
