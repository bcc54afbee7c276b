package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
)

func schedule(req *request) any {
	s := newScheduler(req)
	ctx, cancel := withLimit(context.Background(), seconds(req.TimeLimitSeconds))
	defer cancel()
	start := time.Now()
	verdicts := make([]podVerdict, 0, len(req.Pods))
	for i := range req.Pods {
		verdicts = append(verdicts, s.place(ctx, &req.Pods[i]))
	}
	return scheduleAnswer{ID: req.ID, Pods: verdicts, Seconds: time.Since(start).Seconds()}
}

// scheduler carries the state from one pod to the next.
type scheduler struct {
	*engine
	nodes  []*corev1.Node
	state  structured.AllocatedState
	claims map[string]*resourceapi.ResourceClaim
	// held are the allocations of claims, from the start or made for an earlier pod.
	held map[string]*resourceapi.AllocationResult
}

func newScheduler(req *request) *scheduler {
	e := newEngine(req)
	s := &scheduler{
		engine: e, nodes: req.Nodes, state: stateOf(req.Allocated, e.switches.ConsumableCapacity),
		claims: map[string]*resourceapi.ResourceClaim{}, held: map[string]*resourceapi.AllocationResult{},
	}
	for _, claim := range req.Claims {
		s.claims[key(claim.Namespace, claim.Name)] = claim
	}
	for _, claim := range req.Allocated {
		s.held[key(claim.Namespace, claim.Name)] = claim.Status.Allocation
	}
	return s
}

func key(namespace, name string) string {
	return cmp.Or(namespace, corev1.NamespaceDefault) + "/" + name
}

// place puts one pod on the first node that fits and keeps what its claims got.
func (s *scheduler) place(ctx context.Context, p *pod) podVerdict {
	result := podVerdict{Namespace: p.Namespace, Name: p.Name, Claims: []string{}}
	asked, tied, err := s.split(p)
	if err != nil {
		result.verdict = verdict{Outcome: fatal, Error: err.Error(), Fatal: true}
		return result
	}
	for _, claim := range asked {
		result.Claims = append(result.Claims, claim.Name)
	}
	result.verdict = s.timed(ctx, s.state, func(allocator structured.Allocator) verdict {
		return s.firstFit(ctx, allocator, p, asked, tied, &result)
	})
	if result.Outcome == allocated {
		s.keep(p, result.Claims, result.Allocations)
	}
	return result
}

// split tells the claims still to be allocated from the node selectors of those that are.
func (s *scheduler) split(p *pod) (asked []*resourceapi.ResourceClaim, tied []*corev1.NodeSelector, err error) {
	for _, name := range p.Claims {
		id := key(p.Namespace, name)
		if allocation := s.held[id]; allocation != nil {
			if allocation.NodeSelector != nil {
				tied = append(tied, allocation.NodeSelector)
			}
			continue
		}
		claim := s.claims[id]
		if claim == nil {
			return nil, nil, fmt.Errorf("claim %s does not exist", id)
		}
		asked = append(asked, claim)
	}
	return asked, tied, nil
}

func (s *scheduler) firstFit(
	ctx context.Context, allocator structured.Allocator, p *pod,
	asked []*resourceapi.ResourceClaim, tied []*corev1.NodeSelector, result *podVerdict,
) verdict {
	last := verdict{Outcome: unallocatable}
	nodes, err := s.candidates(p, tied)
	if err != nil {
		return failed(err)
	}
	for _, node := range nodes {
		result.NodesTried++
		attempt := s.try(ctx, allocator, node, asked)
		if attempt.Outcome == allocated {
			result.Node = node.Name
		}
		if attempt.Outcome != unallocatable {
			return attempt
		}
		if attempt.Error != "" {
			last = attempt
		}
	}
	return last
}

// candidates are the nodes the pod may be on, in the order of the request.
func (s *scheduler) candidates(p *pod, tied []*corev1.NodeSelector) ([]*corev1.Node, error) {
	named := sets.New(p.Nodes...)
	var nodes []*corev1.Node
	for _, node := range s.nodes {
		if p.Nodes != nil && !named.Has(node.Name) {
			continue
		}
		reachable, err := s.reachable(node, tied)
		if err != nil {
			return nil, err
		}
		if reachable {
			nodes = append(nodes, node)
		}
	}
	return nodes, nil
}

func (s *scheduler) reachable(node *corev1.Node, tied []*corev1.NodeSelector) (bool, error) {
	for _, selector := range tied {
		if ok, err := structured.NodeMatches(s.switches, node, "", false, selector); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (s *scheduler) keep(p *pod, names []string, allocations []resourceapi.AllocationResult) {
	for i, name := range names {
		s.held[key(p.Namespace, name)] = &allocations[i]
		record(&s.state, &allocations[i], s.switches.ConsumableCapacity)
	}
}
