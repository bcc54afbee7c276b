package main

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/apis/v1alpha1"
)

// protocolVersion grows with every change that an older caller would misread.
const protocolVersion = 1

const simulationModule = "sigs.k8s.io/karpenter"

type request struct {
	ID   json.RawMessage `json:"id"`
	Kind string          `json:"kind"`
	// The following serve kind "provision": the objects of the cluster, and what can be bought.
	Nodes         []*corev1.Node               `json:"nodes"`
	NodeClaims    []*karpenter.NodeClaim       `json:"nodeClaims"`
	Pods          []*corev1.Pod                `json:"pods"`
	DaemonSets    []*appsv1.DaemonSet          `json:"daemonSets"`
	NodePools     []*karpenter.NodePool        `json:"nodePools"`
	NodeOverlays  []*v1alpha1.NodeOverlay      `json:"nodeOverlays"`
	Classes       []*resourceapi.DeviceClass   `json:"classes"`
	Slices        []*resourceapi.ResourceSlice `json:"slices"`
	Claims        []*resourceapi.ResourceClaim `json:"claims"`
	InstanceTypes []instanceType               `json:"instanceTypes"`
	// IgnoreClaims is Karpenter's own default for pods with claims: they are refused.
	IgnoreClaims     bool    `json:"ignoreClaims"`
	BestEffortValues bool    `json:"bestEffortValues"`
	TimeLimitSeconds float64 `json:"timeLimitSeconds"`
	// Pairs serve kind "compatible".
	Pairs []requirementPair `json:"pairs"`
}

// instanceType is what a provider would say of a machine.
type instanceType struct {
	Name         string                           `json:"name"`
	Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
	Capacity     corev1.ResourceList              `json:"capacity"`
	Overhead     corev1.ResourceList              `json:"overhead"`
	Offerings    []offering                       `json:"offerings"`
	Slices       []sliceTemplate                  `json:"slices"`
	Bindings     []binding                        `json:"bindings"`
}

type offering struct {
	Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
	Price        float64                          `json:"price"`
	Available    bool                             `json:"available"`
	// ReservationID is empty where the offering is no reservation.
	ReservationID       string              `json:"reservationId"`
	ReservationCapacity int                 `json:"reservationCapacity"`
	Capacity            corev1.ResourceList `json:"capacity"`
	Overhead            corev1.ResourceList `json:"overhead"`
}

type sliceTemplate struct {
	Driver         string                   `json:"driver"`
	Pool           string                   `json:"pool"`
	Devices        []resourceapi.Device     `json:"devices"`
	SharedCounters []resourceapi.CounterSet `json:"sharedCounters"`
}

type binding struct {
	Devices   []deviceName `json:"devices"`
	Attribute string       `json:"attribute"`
}

type deviceName struct {
	Driver string `json:"driver"`
	Pool   string `json:"pool"`
	Device string `json:"device"`
}

type requirementPair struct {
	Known []karpenter.NodeSelectorRequirementWithMinValues `json:"known"`
	Asked []karpenter.NodeSelectorRequirementWithMinValues `json:"asked"`
}

// roundAnswer is what one provisioning round decided.
type roundAnswer struct {
	ID       json.RawMessage `json:"id"`
	Overlays []overlayStatus `json:"overlays"`
	Types    []pooledType    `json:"types"`
	Nodes    []newNode       `json:"nodes"`
	Existing []existingNode  `json:"existing"`
	Errors   []podError      `json:"errors"`
	Claims   []claimDevices  `json:"claims"`
	Seconds  float64         `json:"seconds"`
}

type overlayStatus struct {
	Name   string `json:"name"`
	Ready  bool   `json:"ready"`
	Reason string `json:"reason"`
}

// pooledType is an instance type as a pool has it after overlays, in the provider's order of offerings.
type pooledType struct {
	Pool     string              `json:"pool"`
	Name     string              `json:"name"`
	Capacity corev1.ResourceList `json:"capacity"`
	Prices   []float64           `json:"prices"`
	Drivers  []string            `json:"drivers"`
}

type newNode struct {
	Name string   `json:"name"`
	Pool string   `json:"pool"`
	Pods []string `json:"pods"`
	// Types are sorted by the price of the cheapest offering that can be launched.
	Types        []string                                         `json:"types"`
	Price        float64                                          `json:"price"`
	Zone         string                                           `json:"zone"`
	CapacityType string                                           `json:"capacityType"`
	Requirements []karpenter.NodeSelectorRequirementWithMinValues `json:"requirements"`
	Annotations  map[string]string                                `json:"annotations"`
}

type existingNode struct {
	Name string   `json:"name"`
	Pods []string `json:"pods"`
}

type podError struct {
	Pod   string `json:"pod"`
	Error string `json:"error"`
}

// claimDevices are the devices of a claim for each instance type that is left; the empty type is an existing node's.
type claimDevices struct {
	Claim   string                  `json:"claim"`
	Node    string                  `json:"node"`
	Devices map[string][]deviceName `json:"devices"`
}

type compatibleAnswer struct {
	ID json.RawMessage `json:"id"`
	// One of each for every pair: strictly, with well-known labels undefined, and by intersection.
	Strict     []bool `json:"strict"`
	WellKnown  []bool `json:"wellKnown"`
	Intersects []bool `json:"intersects"`
}

func named(meta metav1.Object) string {
	if meta.GetNamespace() == "" {
		return meta.GetName()
	}
	return meta.GetNamespace() + "/" + meta.GetName()
}
