# What of a run must be the same whoever worked on it: where it stands, and the
# tool calls it took. The inputs are the answers of status and trace.
. as $status | input as $trace
| {
	status: $status.status,
	counts: $status.counts,
	plan: [$status.plan[] | {sales_order, status, note}],
	actions: [$status.actions[] | {id, sales_order, required_role, status}],
	calls: [$trace.trace[] | select(.kind == "tool_call").data | {name: .tool, args}]
}
