package creditrelease

import (
	"encoding/json"
	"strings"

	"orderdesk/runstore"
	"orderdesk/tools"
)

func orderSubject(id string) runstore.Subject { return subjectOf("sales order", id) }

func subjectOf(words, id string) runstore.Subject {
	return runstore.Subject{Kind: strings.ReplaceAll(words, " ", "_"), ID: id, Text: words + " " + id}
}

// subject reads "customer 10051" or "sales order 4711".
func subject(text string) (runstore.Subject, error) {
	for _, words := range []string{"customer", "sales order"} {
		if raw, ok := strings.CutPrefix(text, words+" "); ok {
			id, err := CanonicalID(raw)
			if err != nil {
				return runstore.Subject{}, tools.Refusef("subject must be '%s NUMBER': %s", words, err)
			}
			return subjectOf(words, id), nil
		}
	}
	return runstore.Subject{}, tools.Refusef("subject must be 'customer NUMBER' or 'sales order NUMBER'; you sent %s.", tools.Quote(tools.Limit(text, 60)))
}

func summarySubjects(result json.RawMessage) []runstore.Subject {
	var s summaryResult
	if json.Unmarshal(result, &s) != nil {
		return nil
	}
	return []runstore.Subject{orderSubject(s.SalesOrder)}
}

func customerSubject(result json.RawMessage) []runstore.Subject {
	var g gapsResult
	if json.Unmarshal(result, &g) != nil {
		return nil
	}
	return []runstore.Subject{subjectOf("customer", g.Customer)}
}
