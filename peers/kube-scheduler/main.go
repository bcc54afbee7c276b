// Command kube-scheduler answers allocation questions with the allocator that kube-scheduler itself embeds.
package main

import (
	"fmt"

	"drasat.dev/peers/lines"
)

func main() {
	lines.Serve(lines.NewHandshake("kube-scheduler", protocolVersion, allocatorModule), answer)
}

var handlers = map[string]func(*request) any{"allocate": allocate, "schedule": schedule}

// answer never fails: what cannot be answered is a failure object.
func answer(line []byte) any {
	var req request
	if err := lines.Decode(line, &req); err != nil {
		return lines.Failure{ID: req.ID, Failure: "request not understood: " + err.Error()}
	}
	handler, known := handlers[req.Kind]
	if !known {
		return lines.Failure{ID: req.ID, Failure: fmt.Sprintf("unknown kind of request %q", req.Kind)}
	}
	if err := selectVariant(req.Variant); err != nil {
		return lines.Failure{ID: req.ID, Failure: err.Error()}
	}
	return handler(&req)
}
