package main

import (
	"context"
	"time"

	"drasat.dev/peers/lines"
	"k8s.io/dynamic-resource-allocation/structured"
)

func allocate(req *request) any {
	if req.Node == nil {
		return lines.Failure{ID: req.ID, Failure: "allocate needs a node"}
	}
	e := newEngine(req)
	state := stateOf(req.Allocated, e.switches.ConsumableCapacity)
	ctx, cancel := withLimit(context.Background(), seconds(req.TimeLimitSeconds))
	defer cancel()
	result := e.timed(ctx, state, func(allocator structured.Allocator) verdict {
		return e.try(ctx, allocator, req.Node, req.Claims)
	})
	return allocateAnswer{ID: req.ID, verdict: result}
}

// timed makes an allocator, lets it be used, and adds what the whole took.
func (e *engine) timed(
	ctx context.Context, state structured.AllocatedState, use func(structured.Allocator) verdict,
) verdict {
	start := time.Now()
	allocator, err := e.allocator(ctx, state)
	if err != nil {
		return failed(err)
	}
	result := use(allocator)
	result.Seconds = time.Since(start).Seconds()
	result.Steps, result.Variant = statistics(allocator)
	return result
}
