package main

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"
)

// protocolVersion grows with every change that an older caller would misread.
const protocolVersion = 1

const allocatorModule = "k8s.io/dynamic-resource-allocation"

// The outcomes of one allocation.
const (
	allocated     = "allocated"     // every claim has an allocation
	unallocatable = "unallocatable" // no solution on this node, or a problem of this node alone (error is then set)
	fatal         = "error"         // the scheduler would give up the whole attempt, whatever the node
	timeout       = "timeout"       // the time limit was reached first
)

type request struct {
	ID   json.RawMessage `json:"id"`
	Kind string          `json:"kind"`
	cluster
	// Node and Claims serve kind "allocate": these claims, in this order, for one pod on this node.
	Node   *corev1.Node                 `json:"node"`
	Claims []*resourceapi.ResourceClaim `json:"claims"`
	// Nodes and Pods serve kind "schedule": pods one by one, each on the first node that fits; Claims then
	// holds what the pods refer to.
	Nodes []*corev1.Node `json:"nodes"`
	Pods  []pod          `json:"pods"`
	// Limits in seconds, 0 for none: of the whole request, and of one call of the allocator.
	TimeLimitSeconds float64 `json:"timeLimitSeconds"`
	CallLimitSeconds float64 `json:"callLimitSeconds"`
}

// cluster is what both kinds of request have in common.
type cluster struct {
	Classes    []*resourceapi.DeviceClass     `json:"classes"`
	Slices     []*resourceapi.ResourceSlice   `json:"slices"`
	TaintRules []*resourceapi.DeviceTaintRule `json:"taintRules"`
	Allocated  []*resourceapi.ResourceClaim   `json:"allocated"`
	Features   features                       `json:"features"`
	// Variant is one of the allocator's implementations by name; empty leaves the choice to it.
	Variant string `json:"variant"`
}

// features are the allocator's switches under their own names, and the gate of the taint rules.
type features struct {
	structured.Features
	DeviceTaintRules bool
}

type pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Claims are names in the pod's namespace.
	Claims []string `json:"claims"`
	// Nodes restricts the pod to these nodes by name; absent means all. The order stays that of the request.
	Nodes []string `json:"nodes"`
}

// verdict is the answer for one pod's claims.
type verdict struct {
	Outcome     string                         `json:"outcome"`
	Error       string                         `json:"error,omitempty"`
	Fatal       bool                           `json:"fatal"`
	Allocations []resourceapi.AllocationResult `json:"allocations"`
	Seconds     float64                        `json:"seconds"`
	// Steps counts entries of the recursive search step; null where the variant does not count.
	Steps   *int64 `json:"steps"`
	Variant string `json:"variant,omitempty"`
}

type allocateAnswer struct {
	ID json.RawMessage `json:"id"`
	verdict
}

type podVerdict struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Node      string `json:"node,omitempty"`
	// Claims are the names of the claims that Allocations are for, in the same order.
	Claims     []string `json:"claims"`
	NodesTried int      `json:"nodesTried"`
	verdict
}

type scheduleAnswer struct {
	ID      json.RawMessage `json:"id"`
	Pods    []podVerdict    `json:"pods"`
	Seconds float64         `json:"seconds"`
}
